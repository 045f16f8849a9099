// What the node has given to interfaces of its pods, kept on its disk: with it DEL and CHECK are served while the API is away, and
// an address that a sandbox may still use is known after a crash of this process. One record for each interface of a pod; the
// sandbox it is in, if any, is part of it.
//
//   prepared    the address is known, no sandbox has it          container ''
//   attached    answered to an ADD                                container set
//   detached    answered to a DEL, or the machine was started anew: a sandbox does not outlive its kernel
//
// Nothing is synced to the disk: what a power cut takes, it takes together with the sandboxes.

import { isRecord, jsonOf } from '../api/shape.ts'
import type { Log } from '../telemetry/log.ts'
import type { Given } from './spec.ts'

export interface Attachment {
  readonly podUID: string
  readonly namespace: string
  readonly pod: string
  readonly ifname: string
  /** Name of the network, as the configuration says it. */
  readonly network: string
  /** Its NetworkAttachmentDefinition, as namespace/name. */
  readonly attachment: string
  /** Name of the IPAMClaim, in the namespace of the pod; empty where the node itself holds the address. */
  readonly claim: string
  readonly given: Given
  /** Empty while no sandbox has it. */
  readonly containerID: string
  readonly netns: string
  /** A sandbox had it: what is detached now was in use before. */
  readonly wasAttached: boolean
  /** Of the kernel under which it was attached. */
  readonly boot: string
}

/** A directory, seen as texts by name. A write is seen whole or not at all, also after a crash. */
export interface StateDisk {
  read(): Iterable<readonly [name: string, text: string]>
  write(name: string, text: string): void
  remove(name: string): void
}

export class State {
  readonly #disk: StateDisk
  readonly #boot: string
  readonly #byPod = new Map<string, Attachment>()
  readonly #byContainer = new Map<string, Attachment>()

  /** `boot`: another text after each start of the machine. */
  constructor(disk: StateDisk, boot: string, log: Log) {
    this.#disk = disk
    this.#boot = boot
    for (const [name, text] of disk.read()) {
      const read = jsonOf(text)
      if (!isAttachment(read) || fileOf(read) !== name) {
        log.error('what is kept about an interface cannot be read and is dropped', { file: name })
        disk.remove(name)
        continue
      }
      this.#keep(read.boot === boot ? read : { ...read, containerID: '', netns: '' })
    }
  }

  get size(): number {
    return this.#byPod.size
  }

  values(): Iterable<Attachment> {
    return this.#byPod.values()
  }

  ofPod(podUID: string, ifname: string): Attachment | undefined {
    return this.#byPod.get(`${podUID} ${ifname}`)
  }

  ofContainer(containerID: string, ifname: string): Attachment | undefined {
    return this.#byContainer.get(`${containerID} ${ifname}`)
  }

  /** What a sandbox has stays as it is: an ADD may have been quicker than the pass that prepares it. */
  prepare(made: Omit<Attachment, 'containerID' | 'netns' | 'wasAttached' | 'boot'>): Attachment {
    const known = this.ofPod(made.podUID, made.ifname)
    if (known !== undefined && known.containerID !== '') return known
    const wasAttached = known?.wasAttached ?? false
    return this.#write({ ...made, containerID: '', netns: '', wasAttached, boot: this.#boot })
  }

  attach(prepared: Attachment, containerID: string, netns: string): Attachment {
    return this.#write({ ...prepared, containerID, netns, wasAttached: true, boot: this.#boot })
  }

  detach(attached: Attachment): void {
    this.#write({ ...attached, containerID: '', netns: '' })
  }

  remove(record: Attachment): void {
    this.#disk.remove(fileOf(record))
    this.#forget(record)
  }

  #write(record: Attachment): Attachment {
    this.#disk.write(fileOf(record), JSON.stringify(record))
    this.#keep(record)
    return record
  }

  #keep(record: Attachment): void {
    this.#forget(record)
    this.#byPod.set(`${record.podUID} ${record.ifname}`, record)
    if (record.containerID !== '') this.#byContainer.set(`${record.containerID} ${record.ifname}`, record)
  }

  #forget({ podUID, ifname }: Attachment): void {
    const known = this.ofPod(podUID, ifname)
    if (known === undefined) return
    this.#byPod.delete(`${podUID} ${ifname}`)
    if (known.containerID !== '') this.#byContainer.delete(`${known.containerID} ${ifname}`)
  }
}

/** Neither part can hold a slash or begin with a dot in it: a name of an interface may have any other character. */
const fileOf = ({ podUID, ifname }: Pick<Attachment, 'podUID' | 'ifname'>): string =>
  `${encodeURIComponent(podUID)}_${encodeURIComponent(ifname)}.json`

const texts = [
  'podUID',
  'namespace',
  'pod',
  'ifname',
  'network',
  'attachment',
  'claim',
  'containerID',
  'netns',
  'boot',
] as const

function isAttachment(value: unknown): value is Attachment {
  if (!isRecord(value) || typeof value.wasAttached !== 'boolean' || !isRecord(value.given)) return false
  if (!texts.every(key => typeof value[key] === 'string')) return false
  const { ips, routes, dns } = value.given
  const isIP = (one: unknown) => isRecord(one) && typeof one.address === 'string'
  return Array.isArray(ips) && ips.every(isIP) && Array.isArray(routes) && isRecord(dns)
}
