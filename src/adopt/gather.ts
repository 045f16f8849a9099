// Everything a judgement is made on, listed once. A kind that is not installed has no objects.

import { clusterAddressPoolKind } from '../api/address-pool.ts'
import type { Hold } from '../api/hold.ts'
import { parseIPAddress } from '../api/ip-address.ts'
import { parseIPAddressClaim } from '../api/ip-address-claim.ts'
import { parseIPAMClaim } from '../api/ipam-claim.ts'
import { parseLauncherPod } from '../api/launcher-pod.ts'
import { type Metadata, metadataOf } from '../api/object.ts'
import { childOf, shapeOf } from '../api/shape.ts'
import { parseVirtualMachineInstance } from '../api/virtual-machine.ts'
import { claims, reports } from '../controllers/capi/kinds.ts'
import { listAll } from '../controllers/capi/listed.ts'
import * as kinds from '../controllers/office/kinds.ts'
import { holdOf } from '../controllers/office/parsed.ts'
import type { Scope } from '../controllers/office/scope.ts'
import { virtualMachineInstances } from '../controllers/vm/kinds.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { isApiError } from '../kube/api-error.ts'
import type { Client } from '../kube/client.ts'
import { leases } from '../kube/lease.ts'
import { defineKind, type Kind, type KubeObject, keyOf } from '../kube/object.ts'
import { type Metal3Address, metal3Group, parseMetal3Address, parseMetal3Pool } from './metal3.ts'
import type { Metal3Objects } from './metal3-translation.ts'
import { type Allocation, parseReservation, parseWhereaboutsPool, whereaboutsGroup } from './whereabouts.ts'
import type { WhereaboutsObjects } from './whereabouts-translation.ts'

const metal3Kind = (kind: string, plural: string): Kind =>
  defineKind<KubeObject>({ group: metal3Group, versions: ['v1alpha1'], plural, kind, namespaced: true })

const metal3Pools = metal3Kind('IPPool', 'ippools')
const metal3Claims = metal3Kind('IPClaim', 'ipclaims')
const metal3Addresses = metal3Kind('IPAddress', 'ipaddresses')

export async function gatherMetal3(client: Client, scope: Scope): Promise<Metal3Objects> {
  const pools = await listAll(client, metal3Pools, scope)
  const own = await listAll(client, metal3Addresses, scope)
  const theirs = await listAll(client, reports, scope)
  const known = (await listAll(client, claims, scope)).flatMap(object => {
    const claim = parseIPAddressClaim(object)
    return isMalformed(claim) ? [] : [claim]
  })
  return {
    pools: pools.map(object => named(object, parseMetal3Pool(object))),
    addresses: [
      ...own.map(object => named(object, parseMetal3Address(object))),
      ...theirs.flatMap(object => toMetal3Address(object) ?? []),
    ],
    ipClaims: (await listAll(client, metal3Claims, scope)).map(metadataOfObject),
    claims: known,
    holds: await readableHolds(client, scope),
  }
}

const whereaboutsKind = (kind: string, plural: string): Kind =>
  defineKind<KubeObject>({ group: whereaboutsGroup, versions: ['v1alpha1'], plural, kind, namespaced: true })

const whereaboutsPools = whereaboutsKind('IPPool', 'ippools')
const reservations = whereaboutsKind('OverlappingRangeIPReservation', 'overlappingrangeipreservations')

/** Pods last: one that has got its address in between is then listed too. Its own objects lie in a namespace of whereabouts. */
export async function gatherWhereabouts(client: Client, scope: Scope): Promise<WhereaboutsObjects> {
  const everywhere = { namespace: '' }
  const unreadable: { name: string; malformed: string }[] = []
  const allocations: Allocation[] = []
  const take = (object: KubeObject, read: readonly Allocation[] | Malformed): void => {
    if (isMalformed(read)) unreadable.push({ name: `${object.kind} ${keyOf(object)}`, malformed: read.malformed })
    else allocations.push(...read.filter(({ pod }) => scope.namespace === '' || pod.startsWith(`${scope.namespace}/`)))
  }
  for (const object of await listAll(client, whereaboutsPools, everywhere)) take(object, parseWhereaboutsPool(object))
  for (const object of await listAll(client, reservations, everywhere)) {
    const read = parseReservation(object)
    take(object, isMalformed(read) ? read : [read])
  }
  const pools = kinds.pools.filter(({ kind }) => kind === clusterAddressPoolKind.kind)
  return {
    allocations,
    unreadable,
    attachments: await listAll(client, kinds.attachments, everywhere),
    pools: pools.length === 0 ? [] : (await Promise.all(pools.map(kind => listAll(client, kind, scope)))).flat(),
    holds: await readableHolds(client, scope),
    claims: readable(await listAll(client, kinds.ipamClaims, scope), parseIPAMClaim),
    instances: readable(await listAll(client, virtualMachineInstances, scope), parseVirtualMachineInstance),
    pods: readable(await listAll(client, kinds.pods, scope), parseLauncherPod),
  }
}

function readable<T extends object>(objects: readonly KubeObject[], parse: (object: KubeObject) => T | Malformed): T[] {
  return objects.flatMap(object => {
    const read = parse(object)
    return isMalformed(read) ? [] : [read]
  })
}

function named<T extends object>(object: KubeObject, read: T): T & { readonly name: string } {
  return { ...read, name: keyOf(object) }
}

/** An IPAddress of Cluster API that Metal3 wrote. */
function toMetal3Address(object: KubeObject): (Metal3Address & { readonly name: string }) | undefined {
  const report = parseIPAddress(object)
  if (isMalformed(report) || report.poolRef.apiGroup !== metal3Group) return undefined
  const { metadata, claimName, address } = report
  return { kind: 'capi', metadata, claimName, address, poolName: report.poolRef.name, name: keyOf(object) }
}

async function readableHolds(client: Client, scope: Scope): Promise<Hold[]> {
  const objects = await listAll(client, kinds.holds, scope)
  return objects.flatMap(object => {
    const hold = holdOf(object)
    return isMalformed(hold) ? [] : [hold]
  })
}

const metadataOfObject = (object: KubeObject): Metadata => metadataOf(childOf(shapeOf(object, '', []), 'metadata'))

/** The holder of a lease of this name that has renewed it lately: that process runs. */
export async function holderOfLease(client: Client, name: string, nowMs: number): Promise<string | undefined> {
  const { items } = await client.list(leases, { fieldSelector: `metadata.name=${name}` })
  const held = items.find(({ spec }) => {
    const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 15 } = spec ?? {}
    return holderIdentity !== '' && nowMs - Date.parse(renewTime) < 2 * leaseDurationSeconds * 1000
  })
  return held?.spec?.holderIdentity
}

interface WebhookRegistration extends KubeObject {
  readonly webhooks?: readonly { readonly clientConfig?: { readonly url?: string } }[]
}

const registrations = defineKind<WebhookRegistration>({
  group: 'admissionregistration.k8s.io',
  versions: ['v1'],
  plural: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
  namespaced: false,
})

/** By an address of their own: so `mooring up` registers its webhooks, and nothing else of ours does. */
export async function servesWebhooksItself(client: Client): Promise<boolean> {
  try {
    const found = await client.get(registrations, { name: 'mooring-validating-webhook-configuration' })
    return found?.webhooks?.some(({ clientConfig }) => clientConfig?.url !== undefined) ?? false
  } catch (error) {
    // In a cluster the user need not be allowed to look; the administrator of `mooring up` is.
    if (isApiError(error, 'Forbidden')) return false
    throw error
  }
}
