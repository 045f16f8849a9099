// What must be true at every revision of the network over which virtual machines migrate, read from what is stored with none of the
// code that wrote it: what a pod of virt-handler was given, and what KubeVirt names, is there; no two nodes have one address; and the
// setting says that it is configured only of a network that every node has.

import type { Condition, Stored } from './observer.ts'

export const fleetHome = 'harvester-system'

interface KubeVirtObject extends Stored {
  readonly spec?: Stored['spec'] & { readonly configuration?: { readonly migrations?: { readonly network?: string } } }
}

interface NetworkStatus {
  /** Without the namespace. */
  readonly name: string
  readonly ips: readonly string[]
}

export function networkStatus({ metadata }: Stored): NetworkStatus | undefined {
  const text = metadata.annotations?.['k8s.v1.cni.cncf.io/network-status'] ?? '[]'
  const [own] = JSON.parse(text) as NetworkStatus[]
  return own && { name: own.name.split('/')[1] ?? '', ips: own.ips }
}

export class FleetObserver {
  readonly nodes = new Map<string, Stored>()
  readonly settings = new Map<string, Stored>()
  readonly kubeVirts = new Map<string, Stored>()
  readonly #say: (violation: string) => void
  readonly #attachments: ReadonlyMap<string, Stored>
  readonly #pods: ReadonlyMap<string, Stored>

  constructor(
    say: (violation: string) => void,
    attachments: ReadonlyMap<string, Stored>,
    pods: ReadonlyMap<string, Stored>,
  ) {
    this.#say = say
    this.#attachments = attachments
    this.#pods = pods
  }

  keptOf(kind: string): Map<string, Stored> | undefined {
    if (kind === 'Node') return this.nodes
    if (kind === 'Setting') return this.settings
    return kind === 'KubeVirt' ? this.kubeVirts : undefined
  }

  /** Pods of virt-handler, in the order of their nodes. */
  get handlers(): Stored[] {
    const own = [...this.#pods.values()].filter(({ metadata }) => metadata.labels?.['kubevirt.io'] === 'virt-handler')
    return own.toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1))
  }

  /** Empty for the management network. */
  get network(): string {
    const [kubeVirt] = this.kubeVirts.values()
    return (kubeVirt as KubeVirtObject | undefined)?.spec?.configuration?.migrations?.network ?? ''
  }

  /** Of migration networks, by name. */
  get networks(): string[] {
    return [...this.#attachments.keys()]
      .filter(key => key.startsWith(`${fleetHome}/`))
      .map(key => key.split('/')[1] ?? '')
  }

  get condition(): Condition | undefined {
    const [setting] = this.settings.values()
    return setting?.status?.conditions?.find(({ type }) => type === 'configured')
  }

  see(revision: number): void {
    if (this.kubeVirts.size === 0) return
    const there = this.networks
    if (this.network !== '' && !there.includes(this.network)) {
      this.#say(`revision ${revision}: KubeVirt names ${this.network}, which is gone`)
    }
    const given = new Map<string, string>()
    for (const pod of this.handlers) {
      const status = networkStatus(pod)
      if (status === undefined) continue
      if (!there.includes(status.name))
        this.#say(`revision ${revision}: ${pod.metadata.name} is on ${status.name}, which is gone`)
      for (const ip of status.ips) {
        const other = given.get(ip)
        if (other !== undefined) this.#say(`revision ${revision}: ${other} and ${pod.metadata.name} both have ${ip}`)
        given.set(ip, pod.metadata.name)
      }
    }
  }

  /** The setting was written: what it says is so. */
  seeSetting(revision: number): void {
    if (this.condition?.status !== 'True') return
    const others = this.handlers.filter(pod => (networkStatus(pod)?.name ?? '') !== this.network)
    const [first] = others
    if (first !== undefined)
      this.#say(
        `revision ${revision}: it is said to be configured, and ${first.metadata.name} is not on ${this.network}`,
      )
  }
}
