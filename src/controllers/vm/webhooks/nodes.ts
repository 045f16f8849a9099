// What the agents of nodes may write to IPAMClaims. RBAC lets an account write to all of them or to none, and the agent runs on every
// node: a token that is stolen from one node must not be worth the addresses of another. So the API server holds each write against
// the node that the token is bound to, which it knows from the token itself.
//
//   create      a claim that is marked for its own node
//   update      such a claim, and it stays so marked; or nothing but which pod uses a claim that no node made
//   delete      such a claim
//
// An agent is known by a permission that nothing else has: to `answer` for `nodes` of our group.

import { isCreated } from '../../../admission/match-conditions.ts'
import type { Policy } from '../../../admission/policy.ts'
import { ipamClaimKind } from '../../../api/ipam-claim.ts'
import { mooringGroup, nodeLabel } from '../../../api/names.ts'

/** No object is of it: to have the permission is what makes an agent. */
export const nodeAgentMark = { group: mooringGroup, plural: 'nodes', namespaced: false } as const
export const nodeAgentVerb = 'answer'

const may = (resource: string, verb: string): string =>
  `authorizer.group('${mooringGroup}').resource('${resource}').check('${verb}').allowed()`

/** Kubernetes 1.30 and later put it there, for tokens of pods. */
const nodeKey = 'authentication.kubernetes.io/node-name'
const extra = 'request.userInfo.extra'

const isMarked = (object: string): string =>
  `(has(${object}.metadata.labels) && '${nodeLabel}' in ${object}.metadata.labels && ` +
  `${object}.metadata.labels['${nodeLabel}'] in ${extra}['${nodeKey}'])`

const isSame = (field: string): string =>
  `(has(object.metadata.${field}) == has(oldObject.metadata.${field}) && ` +
  `(!has(object.metadata.${field}) || object.metadata.${field} == oldObject.metadata.${field}))`

const isUnmarked = `!(has(oldObject.metadata.labels) && '${nodeLabel}' in oldObject.metadata.labels)`

const isNoteOfUse =
  `(${isUnmarked} && ${['labels', 'finalizers', 'ownerReferences'].map(isSame).join(' && ')} && ` +
  'object.spec == oldObject.spec)'

const isOfItsNode =
  `(request.operation == 'DELETE' ? ${isMarked('oldObject')} : ` +
  `(${isCreated} ? ${isMarked('object')} : (${isMarked('object')} && ${isMarked('oldObject')}) || ${isNoteOfUse}))`

export const nodeClaims: Policy = {
  name: 'ipamclaim-node',
  kind: ipamClaimKind,
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  matchConditions: [
    { name: 'by-a-node', expression: may(nodeAgentMark.plural, nodeAgentVerb) },
    { name: 'by-no-other', expression: `!${may('holds', 'create')}` },
  ],
  allowedIf: `(has(${extra}) && '${nodeKey}' in ${extra}) && ${isOfItsNode}`,
  message: `the agent of a node writes only to IPAMClaims whose label ${nodeLabel} names the node that its token is bound to`,
}
