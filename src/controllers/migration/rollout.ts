// Which node migrates over which network, told from its pod of virt-handler: virt-operator writes into the pod which network it is to have,
// multus which one it got, with which addresses. Pure.

import { networkStatusAnnotation, networksAnnotation } from '../../api/names.ts'
import { parseNetworkSelections } from '../../api/network-selection.ts'
import { isRecord, jsonOf } from '../../api/shape.ts'
import { isMalformed } from '../../ip/malformed.ts'
import type { KubeObject } from '../../kube/object.ts'
import { migrationInterface } from '../../migration/names.ts'

/** A pod of virt-handler. */
export interface Handler {
  readonly pod: string
  readonly node: string
  /** It runs, and says that it is ready. */
  readonly isReady: boolean
  /** Name of the NetworkAttachmentDefinition that it is to have; empty for none. */
  readonly network: string
  /** What it got on that interface; undefined where multus has not said. */
  readonly addresses: readonly string[] | undefined
  /** What its containers wait for, in the words of the kubelet, which change from moment to moment; empty for nothing. */
  readonly waitsFor: string
  /** Names of all NetworkAttachmentDefinitions that it was given, or is to have. */
  readonly uses: readonly string[]
}

export interface SelectedNode {
  readonly name: string
  readonly uid: string
  /** Its kubelet answers. */
  readonly isReady: boolean
}

export interface Progress {
  /** Names of nodes, in order. */
  readonly ready: readonly string[]
  /** Nodes that run and do not migrate over the network yet, each with the reason. */
  readonly waiting: readonly { readonly node: string; readonly why: string }[]
  /** Nodes whose kubelet does not answer: nothing can be rolled out there. */
  readonly down: readonly string[]
}

interface PodObject extends KubeObject {
  readonly spec?: { readonly nodeName?: string }
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[]
    readonly containerStatuses?: readonly { readonly state?: { readonly waiting?: { readonly message?: string } } }[]
  }
}

export function readHandler(object: KubeObject): Handler {
  const { metadata, spec, status } = object as PodObject
  const { annotations = {}, namespace = '', deletionTimestamp } = metadata
  const selections = parseNetworkSelections(annotations[networksAnnotation], namespace)
  const asked = isMalformed(selections) ? [] : selections
  const got = statusesOf(annotations[networkStatusAnnotation])
  const network = asked.find(one => one.interface === migrationInterface)?.name ?? ''
  const own = got.find(one => one.interface === migrationInterface)
  const conditions = Array.isArray(status?.conditions) ? status.conditions : []
  const saysReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  return {
    pod: metadata.name ?? '',
    node: spec?.nodeName ?? '',
    isReady: saysReady && status?.phase === 'Running' && (deletionTimestamp ?? undefined) === undefined,
    network,
    addresses: own !== undefined && own.name === network ? own.ips : undefined,
    waitsFor: waitsFor(status?.containerStatuses),
    uses: [...new Set([...asked.map(({ name }) => name), ...got.map(({ name }) => name)])],
  }
}

function waitsFor(containers: unknown): string {
  const all = Array.isArray(containers) ? (containers as NonNullable<PodObject['status']>['containerStatuses']) : []
  const found = all?.find(one => typeof one?.state?.waiting?.message === 'string')
  return found?.state?.waiting?.message ?? ''
}

interface NetworkStatus {
  /** Without the namespace. */
  readonly name: string
  readonly interface: string
  readonly ips: readonly string[]
}

function statusesOf(text: string | undefined): NetworkStatus[] {
  const list = jsonOf(text ?? '')
  return (Array.isArray(list) ? list : []).flatMap(entry => {
    if (!isRecord(entry) || typeof entry.name !== 'string' || typeof entry.interface !== 'string') return []
    const ips = Array.isArray(entry.ips) ? entry.ips.filter(ip => typeof ip === 'string') : []
    return [{ name: entry.name.slice(entry.name.indexOf('/') + 1), interface: entry.interface, ips }]
  })
}

/** How far the nodes are on their way to a network; to none, where its name is empty. */
export function progressOf(
  nodes: readonly SelectedNode[],
  handlers: readonly Handler[],
  network: string,
  isOfNetwork: (address: string) => boolean,
): Progress {
  const ready: string[] = []
  const waiting: { node: string; why: string }[] = []
  const down: string[] = []
  for (const { name, isReady } of nodes) {
    const why = whyNot(
      handlers.filter(({ node }) => node === name),
      network,
      isOfNetwork,
    )
    if (why === undefined) ready.push(name)
    else if (isReady) waiting.push({ node: name, why })
    else down.push(name)
  }
  return { ready, waiting, down }
}

/** Two pods of one node are there for a moment, while one follows the other. */
function whyNot(
  handlers: readonly Handler[],
  network: string,
  isOfNetwork: (ip: string) => boolean,
): string | undefined {
  const there = handlers.find(one => one.network === network)
  if (handlers.some(one => one.network !== network)) return 'virt-handler runs on the former network'
  if (there === undefined) return 'it has no pod of virt-handler'
  const { pod, addresses } = there
  if (!there.isReady) return `pod ${pod} is not ready`
  if (network === '') return undefined
  if (addresses === undefined || addresses.length === 0) return `pod ${pod} has no address on ${migrationInterface}`
  const wrong = addresses.find(ip => !isOfNetwork(ip))
  return wrong === undefined ? undefined : `pod ${pod} has ${wrong}, which is not of its subnet`
}
