// What the webhook on launcher pods asks about the cluster. Answers come from caches; what these do not know yet, because it was
// made a moment ago, is asked at the API server.

import type { IPAMClaim } from '../../api/ipam-claim.ts'
import type { Pool } from '../../api/pool.ts'
import type { VirtualMachineInstance } from '../../api/virtual-machine.ts'
import type { Client } from '../../kube/client.ts'
import { readable } from '../office/kept.ts'
import { attachments } from '../office/kinds.ts'
import type { NetworksView } from '../office/networks.ts'
import { isInScope, type Scope } from '../office/scope.ts'
import {
  best,
  isFor,
  isLeftFor,
  isMadeFor,
  type Machine,
  namesBeforehand,
  nameToMake,
  toWanted,
  type Wanted,
  wantedBy,
} from './claims/belonging.ts'
import { claimName } from './claims/names.ts'
import { virtualMachineInstances } from './kinds.ts'
import { claimOf, podOf, vmiOf } from './parsed.ts'
import type { Caches } from './world.ts'

export interface VMFacts {
  /** Whether this process makes claims for the virtual machine: its pods are told none that will not be there. */
  isServed(vmi: VirtualMachineInstance): boolean
  /** Undefined if there is none, or none that can be read. */
  instance(namespace: string, name: string): Promise<VirtualMachineInstance | undefined>
  /** An interface as the pod has it: on this NetworkAttachmentDefinition, or on the pod network where it names none. */
  interfaceOf(vmi: VirtualMachineInstance, name: string, attachment: string | undefined): Wanted
  /** Whether a NetworkAttachmentDefinition is there that is not in view yet. */
  isUnseen(attachment: string): Promise<boolean>
  /** The NetworkAttachmentDefinition in the place of the pod network. */
  primaryOf(namespace: string): string | undefined
  /** The claim that the interface has, or that will be made for it. */
  claimNameFor(vmi: Owner, wanted: Wanted): string
  /** The same, as it is in view; undefined for one that is yet to be made. */
  claimFor(vmi: Owner, wanted: Wanted): IPAMClaim | undefined
  /** Where the addresses of an interface come from, one pool per family; none where its namespace gets none. */
  poolsOf(wanted: Wanted, namespace: string): readonly Pool[]
  /** What the interfaces of a machine want, in the order of its spec. */
  wantedBy(machine: Machine, namespace: string): readonly Wanted[]
  readonly defaultNetworkNamespace: string
}

type Owner = Pick<VirtualMachineInstance, 'metadata'>

interface Parts {
  readonly client: Pick<Client, 'get'>
  readonly caches: Pick<Caches, 'claims' | 'vms' | 'vmis' | 'pods'>
  readonly scope: Scope
  readonly networks: Pick<
    NetworksView,
    'attachment' | 'primaryOf' | 'poolsFor' | 'hasSynced' | 'defaultNetworkNamespace'
  >
}

/** Undefined until networks and claims have been listed once. */
export function vmFacts({ client, caches, networks, scope }: Parts): VMFacts | undefined {
  if (!networks.hasSynced || !caches.claims.hasSynced) return undefined
  return {
    isServed: ({ metadata }) =>
      isInScope(scope, caches.vms.get(`${metadata.namespace}/${metadata.name}`) ?? { metadata }),
    async instance(namespace, name) {
      const known = readable(caches.vmis.get(`${namespace}/${name}`), vmiOf)
      return known ?? readable(await client.get(virtualMachineInstances, { namespace, name }), vmiOf)
    },
    interfaceOf({ metadata }, name, attachment) {
      return toWanted({ name, attachment, isAbsent: false }, metadata.namespace, networks)
    },
    async isUnseen(attachment) {
      const [namespace = '', name = ''] = attachment.split('/')
      if (networks.attachment(attachment) !== undefined) return false
      return (await client.get(attachments, { namespace, name })) !== undefined
    },
    primaryOf: namespace => networks.primaryOf(namespace),
    claimNameFor: (vmi, wanted) => claimNameFor(caches, vmi, wanted),
    claimFor: (vmi, wanted) => claimFor(caches, vmi, wanted),
    poolsOf({ attachment = '' }, namespace) {
      const found = networks.attachment(attachment)
      const pools = found !== undefined && 'network' in found ? networks.poolsFor(found.network, namespace) : []
      return 'kind' in pools ? [] : pools
    },
    wantedBy: (machine, namespace) => wantedBy(machine, namespace, networks),
    defaultNetworkNamespace: networks.defaultNetworkNamespace,
  }
}

/** By its owners, as left for the virtual machine of that name, or as made before it. */
function isOwnOf({ metadata: { name, uid, ownerReferences } }: Owner, wanted: Wanted) {
  const owners = new Set([uid, ...ownerReferences.map(owner => owner.uid)])
  return (claim: IPAMClaim | undefined): claim is IPAMClaim =>
    claim !== undefined &&
    (isLeftFor(claim, name) ||
      isMadeFor(claim, name, wanted) ||
      claim.metadata.ownerReferences.some(owner => owners.has(owner.uid)))
}

function claimFor(
  { claims, pods }: Pick<Caches, 'claims' | 'pods'>,
  vmi: Owner,
  wanted: Wanted,
): IPAMClaim | undefined {
  const { namespace, name } = vmi.metadata
  const key = `${namespace}/${name}`
  const isOwn = isOwnOf(vmi, wanted)
  const beforehand = namesBeforehand(name, wanted).map(one => claims.get(`${namespace}/${one}`))
  const objects = new Set([...claims.byIndex('vm', key), ...beforehand])
  const own = [...objects].map(object => readable(object, claimOf))
  const fitting = own.filter(isOwn).filter(claim => isFor(claim, name, wanted))
  const launchers = pods.byIndex('vm', key).map(object => readable(object, podOf))
  return best(
    fitting,
    launchers.filter(pod => pod !== undefined),
  )
}

function claimNameFor(caches: Pick<Caches, 'claims' | 'pods'>, vmi: Owner, wanted: Wanted): string {
  const claim = claimFor(caches, vmi, wanted)
  if (claim !== undefined) return claim.metadata.name
  const { claims } = caches
  const { namespace, name } = vmi.metadata
  const isOwn = isOwnOf(vmi, wanted)
  const toMake = nameToMake(name, wanted, one => {
    const object = claims.get(`${namespace}/${one}`)
    if (object === undefined) return 'none'
    return isOwn(readable(object, claimOf)) ? 'own' : 'other'
  })
  return toMake ?? claimName(name, wanted.name)
}
