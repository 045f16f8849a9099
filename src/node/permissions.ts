// What the agent of a node may do in a cluster, and why. It runs on every node: it writes no hold and no status, and of IPAMClaims
// those alone that are marked for its node (`src/controllers/vm/webhooks/nodes.ts`).

import { ownPoolKinds } from '../api/to-pool.ts'
import { type Permission, permission } from '../controllers/component.ts'
import { nodeAgentMark, nodeAgentVerb } from '../controllers/vm/webhooks/nodes.ts'
import { attachments, holds, ipamClaims, kindAs, nodes, pods, virtualMachineInstances } from './kinds.ts'

const poolKinds = ownPoolKinds
  .filter(({ kind }) => /^(Global)?InClusterIPPool$|^(Cluster)?AddressPool$/.test(kind))
  .map(kindAs)

export const nodePermissions: readonly Permission[] = [
  permission(pods, ['get', 'list', 'watch'], 'the pods of the node are not known'),
  permission(attachments, ['get', 'list', 'watch'], 'the networks of pods are not known'),
  permission(
    ipamClaims,
    ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    'pods that name no claim get no addresses, and what they had does not come back',
  ),
  permission(holds, ['get', 'list'], 'it cannot be told which addresses a claim has, and which the node has'),
  ...[true, false].flatMap(isNamespaced => {
    const kinds = poolKinds.filter(({ namespaced }) => namespaced === isNamespaced)
    return [...new Set(kinds.map(({ group }) => group))].map(group =>
      permission(
        kinds.filter(kind => kind.group === group),
        ['get'],
        'networks that name a pool give no addresses',
      ),
    )
  }),
  permission(virtualMachineInstances, ['get'], 'virtual machines do not get the addresses of their claims'),
  permission(nodes, ['get'], 'networks whose addresses nodes hold give none'),
  permission(nodeAgentMark, [nodeAgentVerb], 'the API server does not hold its writes against its node'),
]
