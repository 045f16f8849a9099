// The kinds of the behaviours, by the kind that an object names.

import { definitionKind } from '../../scripts/real/kinds.ts'
import { claims, clusters, reports } from '../../src/controllers/capi/kinds.ts'
import { machines } from '../../src/controllers/machine/kinds.ts'
import {
  clusterNetworks,
  kubeVirts,
  migrationNetworks,
  migrations,
  settings,
  vlanConfigs,
  vlanStatuses,
} from '../../src/controllers/migration/kinds.ts'
import {
  attachments,
  clusterUserDefinedNetworks,
  holds,
  ipPools,
  macHolds,
  namespaces,
  nodes,
  pools,
  userDefinedNetworks,
} from '../../src/controllers/office/kinds.ts'
import { ipamClaims, pods, virtualMachineInstances, virtualMachines } from '../../src/controllers/vm/kinds.ts'
import { events } from '../../src/kube/events.ts'
import { defineKind, type Kind, type KubeObject } from '../../src/kube/object.ts'
import { berths, networks } from '../toy-desk/kinds.ts'

export {
  attachments,
  claims,
  clusters,
  events,
  holds,
  kubeVirts,
  macHolds,
  machines,
  migrationNetworks,
  migrations,
  nodes,
  pods,
  pools,
  reports,
  settings,
}

const rbac = (kind: string) =>
  defineKind<KubeObject>({
    group: 'rbac.authorization.k8s.io',
    versions: ['v1'],
    plural: `${kind.toLowerCase()}s`,
    kind,
    namespaced: !kind.startsWith('Cluster'),
  })

const registration = (type: 'Validating' | 'Mutating') =>
  defineKind<KubeObject>({
    group: 'admissionregistration.k8s.io',
    versions: ['v1'],
    plural: `${type.toLowerCase()}webhookconfigurations`,
    kind: `${type}WebhookConfiguration`,
    namespaced: false,
  })

const machineKind = (kind: string, version: string) =>
  defineKind<KubeObject>({
    group: 'machine.openshift.io',
    versions: [version],
    plural: `${kind.toLowerCase()}s`,
    kind,
    namespaced: true,
  })

const budgets = defineKind<KubeObject>({
  group: 'policy',
  versions: ['v1'],
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  namespaced: true,
})

const ofOffice = [
  holds,
  macHolds,
  namespaces,
  attachments,
  clusterUserDefinedNetworks,
  userDefinedNetworks,
  ipPools,
  events,
  definitionKind,
  ...pools,
]
const known: readonly Kind[] = [
  claims,
  reports,
  clusters,
  berths,
  networks,
  ipamClaims,
  virtualMachines,
  virtualMachineInstances,
  pods,
  nodes,
  budgets,
  machines,
  machineKind('MachineSet', 'v1beta1'),
  machineKind('ControlPlaneMachineSet', 'v1'),
  clusterNetworks,
  kubeVirts,
  migrationNetworks,
  migrations,
  nodes,
  settings,
  vlanConfigs,
  vlanStatuses,
  rbac('Role'),
  rbac('RoleBinding'),
  rbac('ClusterRole'),
  rbac('ClusterRoleBinding'),
  registration('Validating'),
  registration('Mutating'),
  ...ofOffice,
]

/** Several groups have a kind IPPool. */
export function kindOf({ kind, apiVersion = '' }: KubeObject): Kind {
  const named = known.filter(one => one.kind === kind)
  const found = named.find(({ group }) => apiVersion.startsWith(`${group}/`)) ?? named[0]
  if (found === undefined) throw new Error(`no behaviour speaks of ${kind}`)
  return found
}
