// Cluster IPs and node ports of services: each belongs to one service at a time. They are chosen by looking at every
// stored service, and reserved until the write that takes them is done, so two creates at once never choose the same.

import { type Fields, items, text, texts } from '../builtin/fields.ts'
import type { Call, World } from '../call.ts'
import { type Fault, invalid } from '../faults.ts'
import { isObject, type KubeObject } from '../object.ts'
import { listObjects } from '../objects.ts'
import { invalidObject } from '../status.ts'

/** 10.96.0.0/16; the first 256 are kept for services that name their address, as long as others are free. */
const clusterNetwork = '10.96.'
const clusterSize = 65_536
const clusterFirst = 256
const portMin = 30_000
const portMax = 32_767
const portFirst = 30_086

const promised = new WeakMap<World['store'], Set<string>>()

/** Fills in what the service lacks, or refuses what is taken. Returns what ends the reservation after the write. */
export function reserveAddresses(call: Call, world: World, service: KubeObject, old?: KubeObject): () => void {
  const spec = service.spec
  const isService = call.resource.group === '' && call.resource.plural === 'services' && call.request.subresource === ''
  if (!isService || !isObject(spec)) return () => {}
  const before = isObject(old?.spec) ? old.spec : undefined
  settleOldPorts(spec, before)
  const book = openBook(call, world, service)
  const faults = [...settleAddress(spec, before, book), ...settlePorts(spec, before, book)]
  if (faults.length > 0) {
    book.letGo()
    throw invalidObject(call.served.kind, service.metadata.name ?? '', faults)
  }
  return book.letGo
}

interface Book {
  isFree(entry: string): boolean
  take(entry: string): void
  letGo(): void
  readonly random: () => number
}

function openBook({ resource }: Call, { store, random }: World, service: KubeObject): Book {
  const pending = promised.get(store) ?? new Set<string>()
  promised.set(store, pending)
  const taken = new Set<string>()
  for (const other of listObjects(store, resource)) {
    const isSelf =
      other.metadata.name === service.metadata.name && other.metadata.namespace === service.metadata.namespace
    if (!isSelf && isObject(other.spec)) for (const entry of entriesOf(other.spec)) taken.add(entry)
  }
  const mine = new Set<string>()
  return {
    random,
    isFree: entry => mine.has(entry) || !(taken.has(entry) || pending.has(entry)),
    take(entry) {
      if (mine.has(entry)) return
      mine.add(entry)
      pending.add(entry)
    },
    letGo() {
      for (const entry of mine) pending.delete(entry)
    },
  }
}

function entriesOf(spec: Fields): string[] {
  const ports = [...items(spec.ports).map(port => port.nodePort), spec.healthCheckNodePort]
  return [...texts(spec.clusterIPs), ...ports.filter(port => typeof port === 'number' && port > 0)].map(String)
}

function settleAddress(spec: Fields, old: Fields | undefined, book: Book): Fault[] {
  if (spec.type === 'ExternalName' || spec.clusterIP === 'None') return []
  const asked = text(spec.clusterIP)
  if (asked === '') {
    const chosen =
      choose(book, clusterFirst, clusterSize - 2, toAddress) ?? choose(book, 1, clusterFirst - 1, toAddress)
    if (chosen === undefined) {
      return [invalid('spec.clusterIPs', [], 'failed to allocate a serviceIP: range is full')]
    }
    spec.clusterIP = chosen
    spec.clusterIPs = [chosen]
    return []
  }
  if (asked === old?.clusterIP) return []
  const shown = Array.isArray(spec.clusterIPs) ? spec.clusterIPs : [asked]
  const refuse = (why: string) => [invalid('spec.clusterIPs', shown, `failed to allocate IP ${asked}: ${why}`)]
  if (!asked.startsWith(clusterNetwork)) return refuse('the provided network does not match the current range')
  if (!book.isFree(asked)) return refuse('provided IP is already allocated')
  book.take(asked)
  return []
}

function toAddress(offset: number): string {
  return `${clusterNetwork}${offset >> 8}.${offset & 255}`
}

function settlePorts(spec: Fields, old: Fields | undefined, book: Book): Fault[] {
  const faults: Fault[] = []
  const kept = new Set(old === undefined ? [] : entriesOf(old))
  const byPort = new Map<unknown, unknown>()
  if (!needsNodePorts(spec)) return []
  for (const [i, port] of items(spec.ports).entries()) {
    const asked = typeof port.nodePort === 'number' ? port.nodePort : 0
    // One number serves both protocols of a port.
    if (asked === 0) port.nodePort = byPort.get(port.port) ?? choosePort(book)
    else if (!kept.has(String(asked))) {
      const path = `spec.ports[${i}].nodePort`
      if (asked < portMin || asked > portMax) faults.push(invalid(path, asked, outOfRange))
      else if (!book.isFree(String(asked))) faults.push(invalid(path, asked, 'provided port is already allocated'))
      else book.take(String(asked))
    }
    byPort.set(port.port, port.nodePort)
  }
  const isLocal = spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'
  if (isLocal && !spec.healthCheckNodePort) spec.healthCheckNodePort = choosePort(book)
  return faults
}

const outOfRange = `provided port is not in the valid range. The range of valid ports is ${portMin}-${portMax}`

function choosePort(book: Book): number {
  const chosen = choose(book, portFirst, portMax, String) ?? choose(book, portMin, portFirst - 1, String)
  return Number(chosen ?? 0)
}

/** A random place to begin, then the next free one, once around. */
function choose(book: Book, first: number, last: number, toEntry: (n: number) => string): string | undefined {
  const count = last - first + 1
  const start = Math.floor(book.random() * count)
  for (let i = 0; i < count; i++) {
    const entry = toEntry(first + ((start + i) % count))
    if (!book.isFree(entry)) continue
    book.take(entry)
    return entry
  }
  return undefined
}

/** Ports that an update leaves out are kept; ports that a type has no use for are given back. */
function settleOldPorts(spec: Fields, old: Fields | undefined): void {
  if (old === undefined) return
  const oldPorts = new Map(
    items(old.ports)
      .reverse()
      .map(port => [portKey(port), port]),
  )
  for (const port of items(spec.ports)) {
    const same = oldPorts.get(portKey(port))
    if (needsNodePorts(spec) && needsNodePorts(old)) {
      if (!port.nodePort && same?.nodePort) port.nodePort = same.nodePort
    } else if (!needsNodePorts(spec) && port.nodePort === same?.nodePort) delete port.nodePort
  }
}

const portKey = ({ port, protocol }: Fields): string => `${typeof port === 'number' ? port : ''}/${text(protocol)}`

function needsNodePorts(spec: Fields): boolean {
  if (spec.type === 'LoadBalancer') return spec.allocateLoadBalancerNodePorts !== false
  return spec.type === 'NodePort'
}
