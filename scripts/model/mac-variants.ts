// What the model of a MAC that changes must refuse, like variants.ts: rule 17.

import type { Variant } from './variants.ts'

export const macVariants: readonly Variant[] = [
  {
    says: 'a former MAC goes to rest without a mark on the claim first',
    rule: 'MarksFirst',
    configuration: 'mac-racing',
    promise: 'AskedStays',
  },
  {
    says: 'a marked MAC that is asked for again is not renewed',
    rule: 'HeedsMark',
    configuration: 'mac-racing',
    promise: 'ToldHeld',
  },
  {
    says: 'a pod is told a marked MAC before it is renewed',
    rule: 'PodsHeedMark',
    configuration: 'mac-racing',
    promise: 'NoTwin',
  },
  {
    says: 'a pod is told the new MAC before its claim holds it',
    rule: 'HoldsFirst',
    configuration: 'mac-racing',
    promise: 'NoTwin',
  },
  {
    says: 'a former MAC goes to rest while a pod runs with it',
    rule: 'AsksPods',
    configuration: 'mac-racing',
    promise: 'NoTwin',
  },
  {
    says: "a former MAC goes to rest without the MACHold's version being checked",
    rule: 'ChecksRested',
    configuration: 'mac-racing',
    promise: 'AskedStays',
  },
  {
    says: 'a former MAC goes to rest, and a pod that is not told yet is not marked before',
    rule: 'TouchesPods',
    configuration: 'mac-racing',
    promise: 'NoTwin',
  },
  {
    says: 'pods are listed before the claim is marked, and not after',
    rule: 'ListsLast',
    configuration: 'mac-racing',
    promise: 'NoTwin',
  },
  {
    says: 'who tells a pod reads the claim before the pod',
    rule: 'ClaimLast',
    configuration: 'mac-racing',
    promise: 'NoTwin',
  },
  {
    says: 'a claim that waits for another MAC keeps its former one',
    rule: 'WaitingLetsGo',
    configuration: 'mac-liveness',
    promise: 'EventuallyHas',
  },
]
