// Which users may say that a claim has an address. Mooring's memory is on the claim (`mooring.dev/address`, `mooring.dev/subnet`)
// and in its IPAddress, and a claim that is moved or restored brings both. So a user who may write them could take any address
// for a claim. Only users who could also write holds may: the controller, administrators, the user of clusterctl and of a
// restore. What is removed, Mooring puts back: removing is open to all users, and so is all else on these objects.
//
// An IPAddress counts only as far as it names a pool of ours: those of other providers are not touched. A provider that serves
// the same kinds of pools beside Mooring needs the permission too (docs/how-to/take-over.md).

import { annotationChanges, hasAnnotation, isCreated, specChanges } from '../../../admission/match-conditions.ts'
import type { Policy } from '../../../admission/policy.ts'
import type { Operation } from '../../../admission/webhook.ts'
import { ipAddressKind } from '../../../api/ip-address.ts'
import { claimablePoolKinds, ipAddressClaimKind } from '../../../api/ip-address-claim.ts'
import { choiceAnnotation, mooringGroup, requestedAddressAnnotation, subnetAnnotation } from '../../../api/names.ts'

const operations: readonly Operation[] = ['CREATE', 'UPDATE']

const mayWriteLedger = `authorizer.group('${mooringGroup}').resource('holds').check('create').allowed()`

const isSet = (key: string): string => `${hasAnnotation('object', key)} && (${isCreated} || ${annotationChanges(key)})`

export const claimAuthors: Policy = {
  name: 'ipaddressclaim-author',
  kind: ipAddressClaimKind('v1beta2'),
  operations,
  matchConditions: [
    { name: 'says-what-it-has', expression: `(${isSet(choiceAnnotation)}) || (${isSet(subnetAnnotation)})` },
  ],
  allowedIf: mayWriteLedger,
  message: `the annotations ${choiceAnnotation} and ${subnetAnnotation} are written by Mooring, and by users who may create holds.mooring.dev: ask for an address by the annotation ${requestedAddressAnnotation}`,
}

const ours = claimablePoolKinds.map(({ group, kind }) => `'${kind}.${group}'`).join(', ')

const namesPoolOfOurs =
  'has(object.spec) && has(object.spec.poolRef) && has(object.spec.poolRef.apiGroup) && has(object.spec.poolRef.kind) && ' +
  `(object.spec.poolRef.kind + '.' + object.spec.poolRef.apiGroup) in [${ours}]`

/** The garbage collector takes owners off. */
const isGivenClaim =
  'has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(owner, ' +
  "owner.kind == 'IPAddressClaim' && !(has(oldObject.metadata.ownerReferences) && " +
  'oldObject.metadata.ownerReferences.exists(known, known.uid == owner.uid)))'

export const addressAuthors: Policy = {
  name: 'ipaddress-author',
  kind: ipAddressKind('v1beta2'),
  operations,
  matchConditions: [
    { name: 'is-of-our-pools', expression: namesPoolOfOurs },
    { name: 'says-what-a-claim-has', expression: `${isCreated} || ${specChanges} || (${isGivenClaim})` },
  ],
  allowedIf: mayWriteLedger,
  message:
    'an IPAddress says which address a claim has: it is written by Mooring, and by users who may create holds.mooring.dev',
}
