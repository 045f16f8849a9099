// Networks as a test declares them: the same in every process of the test, with no object behind them.

import type { IPAMClaim } from '../../src/api/ipam-claim.ts'
import { metadataOf } from '../../src/api/object.ts'
import { makePool, type Pool, type PoolParts } from '../../src/api/pool.ts'
import { shapeOf } from '../../src/api/shape.ts'
import type { AttachmentInView, NetworksChange, NetworksView } from '../../src/controllers/office/networks.ts'
import type { Office } from '../../src/controllers/office/office.ts'
import { toSource } from '../../src/controllers/office/sources.ts'
import { parseIP } from '../../src/ip/address.ts'
import { parseCIDR, toNetwork } from '../../src/ip/cidr.ts'
import { parseEntry, rangeOfCIDR } from '../../src/ip/range.ts'
import { toRangeSet } from '../../src/ip/range-set.ts'
import { type Refusal, refuse } from '../../src/ipam/refusal.ts'
import type { Network } from '../../src/networks/network.ts'
import { orThrow } from '../harness/or-throw.ts'

export interface NetworkStory {
  readonly name: string
  readonly subnets?: readonly string[]
  readonly excludes?: readonly string[]
  readonly gateways?: readonly string[]
  readonly isObserved?: boolean
  readonly isPrimary?: boolean
  readonly isOVN?: boolean
  readonly pool?: Partial<PoolParts>
  /** All, unless said. */
  readonly namespaces?: readonly string[]
}

export function networkOf(story: NetworkStory): Network {
  const { name, subnets = ['10.9.0.0/28', 'fd00:9::/64'], excludes = [], gateways = [], isPrimary = false } = story
  const source = { apiGroup: 'k8s.cni.cncf.io', kind: 'Network', namespace: '', name }
  const metadata = metadataOf(shapeOf({ name, uid: name, resourceVersion: '1', creationTimestamp: '' }, '', []))
  const pools = subnets.map((text): Pool => {
    const subnet = toNetwork(orThrow(parseCIDR(text)))
    const { family } = subnet.ip
    const excluded = excludes.map(one => orThrow(parseEntry(one))).filter(one => one.family === family)
    const gatewayText = gateways.find(one => one.includes(':') === (family === 6)) ?? ''
    return makePool({
      ...{ identity: source, apiVersion: 'k8s.cni.cncf.io/v1', metadata, space: name, isOneOfTwo: subnets.length > 1 },
      ...{ family, prefix: subnet.bits, addresses: toRangeSet(family, [rangeOfCIDR(subnet)]) },
      excluded: toRangeSet(family, excluded),
      gateway: gatewayText === '' ? undefined : orThrow(parseIP(gatewayText)),
      gatewayText,
      ...story.pool,
    })
  })
  const ovn = {
    topology: 'layer2' as const,
    isPrimary,
    gateways: gateways.map(one => orThrow(parseIP(one))),
    managements: [],
    isServedByOVN: story.isObserved === true,
  }
  return {
    name,
    source,
    pools,
    allowsPersistentIPs: true,
    holder: 'claim',
    ovn: story.isOVN === false ? undefined : ovn,
  }
}

/** Every network has one attachment in each namespace: `namespace/<name of the network>`. */
export class StoryNetworks {
  readonly #stories = new Map<string, { readonly story: NetworkStory; readonly network: Network }>()
  readonly #offices = new Set<Office>()
  readonly #subscribers = new Set<(change: NetworksChange) => void>()

  constructor(...stories: readonly NetworkStory[]) {
    for (const story of stories) this.put(story)
  }

  put(story: NetworkStory, namespaces: readonly string[] = ['default']): void {
    const network = networkOf(story)
    this.#stories.set(story.name, { story, network })
    for (const office of this.#offices) offer(office, network)
    this.#publish(story.name, namespaces)
  }

  remove(name: string, namespaces: readonly string[] = ['default']): void {
    const known = this.#stories.get(name)
    this.#stories.delete(name)
    for (const office of this.#offices) if (known !== undefined) office.sources.remove(known.network.source)
    this.#publish(name, namespaces)
  }

  /** As a process sees them. */
  readonly open = (office: Office): NetworksView => {
    this.#offices.add(office)
    for (const { network } of this.#stories.values()) offer(office, network)
    const find = (name: string) => this.#stories.get(name)
    return {
      hasSynced: true,
      defaultNetworkNamespace: 'ovn-kubernetes',
      subscribe: onChange => this.#subscribers.add(onChange),
      primaryOf: namespace => {
        const primary = [...this.#stories.values()].find(({ story }) => story.isPrimary === true)
        return primary && `${namespace}/${primary.story.name}`
      },
      attachment: (key): AttachmentInView | undefined => {
        const name = key.split('/')[1] ?? ''
        if (name.startsWith('foreign')) return { foreign: 'it is of another CNI' }
        const known = find(name)
        return known && { network: known.network }
      },
      ofClaim: ({ network }: Pick<IPAMClaim, 'network'>): Network | Refusal =>
        find(network)?.network ?? refuse('PoolNotFound', `there is no network ${network}`),
      poolsFor: ({ name, pools }, namespace): readonly Pool[] | Refusal => {
        const namespaces = find(name)?.story.namespaces
        if (namespaces === undefined || namespaces.includes(namespace)) return pools
        return refuse('NamespaceNotAllowed', `Network ${name} is not offered to namespace ${namespace}`)
      },
      isObserved: ({ name }) => find(name)?.story.isObserved === true,
      isObservedThough: () => false,
    }
  }

  #publish(name: string, namespaces: readonly string[]): void {
    const change = { names: [name], attachments: namespaces.map(namespace => `${namespace}/${name}`) }
    for (const onChange of this.#subscribers) onChange(change)
  }
}

function offer(office: Office, { pools }: Network): void {
  const [first, ...others] = pools
  if (first !== undefined) office.sources.put(toSource([first, ...others]))
}
