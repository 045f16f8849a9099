// What the machine desk may do in a cluster, and why. A verb that is not here is never used by it, but for those to list and watch
// claims and IPAddresses, which the capi desk asks for, whichever desks are on.

import { type Permission, permission, subresource } from '../component.ts'
import { claims, controlPlaneMachineSets, machineSets, machines, nodes, pods, reports } from './kinds.ts'
import { infrastructures } from './sets/failure-domains.ts'

export const machinePermissions: readonly Permission[] = [
  permission(machines, ['get', 'list', 'watch'], 'Machines are not seen'),
  permission(machines, ['patch'], 'a Machine does not remember which addresses its virtual machine has'),
  permission(subresource(machines, 'status'), ['patch'], 'a Machine does not say which claims it waits for'),
  permission(
    subresource(machines, 'finalizers'),
    ['update'],
    'a claim cannot name its Machine as owner where the API server checks which users may block a deletion',
  ),
  permission(claims, ['create'], 'Machines get no claims'),
  // As the capi desk asks for them, so that a role has them once.
  permission(claims, ['get'], 'a claim that another process made meanwhile is not seen'),
  permission(
    claims,
    ['patch'],
    'claims that were there before their Machine are not adopted, and those of one that is gone stay',
  ),
  permission(
    subresource(claims, 'finalizers'),
    ['update'],
    'an IPAddress cannot name its claim as owner where the API server checks which users may block a deletion',
  ),
  permission(reports, ['get', 'patch'], 'an IPAddress that an installation made stays when its Machine is gone'),
]

/** Of a kind that has namespaces, in every one: the pods of a Node are wherever they are. */
const everywhere = (of: Permission): Permission => ({ ...of, scope: 'cluster' })

/** Only in the namespaces that an administrator names, for among it is reading Secrets. */
const whereMachinesAre = (of: Permission): Permission => ({ ...of, scope: 'machines' })

const secrets = { group: '', plural: 'secrets', namespaced: true }

/** What it may do besides where it is the controller of Machines, with `--machine-mode=full`. Claims are served without any of it. */
export const fullMachinePermissions: readonly Permission[] = [
  permission([machineSets, controlPlaneMachineSets], ['get', 'list', 'watch'], 'sets of Machines are not seen'),
  permission(infrastructures, ['list', 'watch'], 'a control plane is not replaced in its failure domains'),
  permission(nodes, ['get', 'patch'], 'the Node of a Machine is not drained before its virtual machine goes'),
  everywhere(permission(pods, ['list'], 'the Node of a Machine is not drained before its virtual machine goes')),
  everywhere(
    permission(
      subresource(pods, 'eviction'),
      ['create'],
      'the Node of a Machine is not drained before its virtual machine goes',
    ),
  ),
  whereMachinesAre(permission(secrets, ['get'], 'no vCenter can be logged in to')),
  whereMachinesAre(permission(machines, ['create', 'delete'], 'sets of Machines are not scaled')),
  whereMachinesAre(
    permission(
      [subresource(machineSets, 'status'), subresource(controlPlaneMachineSets, 'status')],
      ['patch'],
      'sets of Machines do not say how many they have',
    ),
  ),
  whereMachinesAre(
    permission(
      subresource(machineSets, 'finalizers'),
      ['update'],
      'a Machine cannot name its set as owner where the API server checks which users may block a deletion',
    ),
  ),
].map(of => ({ ...of, isNeeded: false }))
