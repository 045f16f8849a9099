// What the model of parts must refuse, like variants.ts: claims that hold several things, all or nothing.

import type { Variant } from './variants.ts'

export const partVariants: readonly Variant[] = [
  {
    says: 'the choice is stored for some of the parts',
    rule: 'StoresWhole',
    configuration: 'parts-racing',
    promise: 'AllOrNothing',
  },
  {
    says: 'a claim that lacks a part keeps the others',
    rule: 'GivesBack',
    configuration: 'parts-liveness',
    promise: 'NothingHalfTaken',
  },
  {
    says: 'a claim that lacks a part keeps what a crashed pass took',
    rule: 'GivesFoundBack',
    configuration: 'parts-liveness',
    promise: 'NothingHalfTaken',
  },
  {
    says: 'a found hold is given back without writing the claim first',
    rule: 'WritesClaimFirst',
    configuration: 'parts-racing',
    promise: 'ChoiceHeld',
  },
  {
    says: 'the claim is written first, but not under the version in which it had no choice',
    rule: 'WritesVersion',
    configuration: 'parts-racing',
    promise: 'ChoiceHeld',
  },
  {
    says: 'the claim is written first, but the write says what is there already and changes no version',
    rule: 'WritesAnew',
    configuration: 'parts-racing',
    promise: 'ChoiceHeld',
  },
  {
    says: 'a found hold is given back under a version that was read after the claim was written',
    rule: 'ReadsHoldFirst',
    configuration: 'parts-racing',
    promise: 'ChoiceHeld',
  },
  {
    says: 'a hold is given back without its version being checked',
    rule: 'ChecksGivenBack',
    configuration: 'parts-racing',
    promise: 'ChoiceHeld',
  },
  {
    says: 'a choice is stored on a hold that was found, while another worker gives it back',
    rule: 'RenewsFound',
    configuration: 'parts-racing',
    promise: 'ChoiceHeld',
  },
  {
    says: "the choice is stored under the claim's version as read between two parts",
    rule: 'ReadsClaimOnce',
    configuration: 'parts-racing',
    promise: 'ChoiceHeld',
  },
  {
    says: 'a found hold is deleted instead of put to rest',
    rule: 'RestsFound',
    configuration: 'parts-racing',
    promise: 'NoEarlyReuse',
  },
  {
    says: 'a regained hold is deleted instead of put back to rest',
    rule: 'RestsRegained',
    configuration: 'parts-racing',
    promise: 'NoEarlyReuse',
  },
  {
    says: 'a hold is had for another part than it names',
    rule: 'KnowsPart',
    configuration: 'parts-one-set',
    promise: 'NoTwin',
  },
  {
    says: 'a stray is told by the choice for another part',
    rule: 'ComparesPart',
    configuration: 'parts-racing',
    promise: 'ChoiceHeld',
  },
  {
    says: 'a bound claim whose choice was stripped gives back, or chooses anew',
    rule: 'SparesStripped',
    configuration: 'parts-stripped',
    promise: 'HonestBound',
  },
  {
    says: 'two claims take their parts in different orders',
    rule: 'FixedOrder',
    configuration: 'parts-order',
    promise: 'EventuallyBound',
  },
]
