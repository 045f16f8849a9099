// People in a perturbed world: they use the API itself, and wait for what they expect, some of them not for ever.

import type { BerthWish, ClaimWish, Kind, People, PoolWish } from '../scenarios/scenario.ts'
import { fleetPeopleOf } from './fleet-people.ts'
import { machinePeopleOf } from './machine-people.ts'
import { nodePeopleOf } from './node-people.ts'
import { choiceOf, isBound, readyOf } from './observer.ts'
import { orderPeopleOf } from './order-people.ts'
import type { PerturbedWorld } from './world.ts'

/** What people expected did not come about in any time that could be called reasonable. */
export class Stuck extends Error {
  override readonly name = 'Stuck'
}

/** Longer than any fault of a plan lasts, with all the waiting that follows it. */
const reasonableMs = 15 * 60_000

const poolPaths = {
  AddressPool: 'mooring.dev/v1alpha1/addresspools',
  ClusterAddressPool: 'mooring.dev/v1alpha1/clusteraddresspools',
  InClusterIPPool: 'ipam.cluster.x-k8s.io/v1alpha2/inclusterippools',
  GlobalInClusterIPPool: 'ipam.cluster.x-k8s.io/v1alpha2/globalinclusterippools',
} as const

export function peopleOf(world: PerturbedWorld, patienceMs = reasonableMs): People {
  const { admin } = world.server
  const { observer } = world
  const isPatient = patienceMs >= reasonableMs

  async function wait(what: string, isTrue: () => boolean): Promise<void> {
    world.note('people', `wait for: ${what}`)
    if (await world.until(isTrue, patienceMs)) return
    if (isPatient) throw new Stuck(`never came: ${what}`)
  }

  /** What is in the way of the impatient is asked for again until it works. */
  async function send(method: string, path: string, body?: unknown): Promise<number> {
    let code = 0
    const attempt = async () => {
      const reply = await admin.request(method, path, body)
      code = reply.code
    }
    await attempt()
    world.note('people', `${method} ${path} -> ${code}`)
    for (let tries = 0; code === 409 && tries < 100; tries++) {
      await world.pass(10_000)
      await attempt()
    }
    return code
  }

  async function create(path: string, body: unknown): Promise<void> {
    const code = await send('POST', path, body)
    if (code !== 201) throw new Stuck(`could not create ${path}: ${code}`)
  }

  function isServed(berth: string): boolean {
    return readyOf(observer.berths.get(split(berth).join('/'))?.status?.conditions)?.status === 'True'
  }

  return {
    ...machinePeopleOf(world, { create, send, wait }),
    ...orderPeopleOf(world, { create, send, wait }),
    ...fleetPeopleOf(world, { create, send, wait }),
    ...nodePeopleOf(world, { create, send, wait }),
    async makePool({ kind = 'AddressPool', namespace = 'default', name = 'pool', addresses, more }: PoolWish) {
      const [group, version, plural] = poolPaths[kind].split('/')
      const isWide = kind === 'ClusterAddressPool' || kind === 'GlobalInClusterIPPool'
      const metadata = isWide ? { name } : { name, namespace }
      const spec = { addresses, prefix: 24, ...more }
      const place = isWide ? '' : `namespaces/${namespace}/`
      await create(`/apis/${group}/${version}/${place}${plural}`, {
        apiVersion: `${group}/${version}`,
        kind,
        metadata,
        spec,
      })
    },
    async makeClaim(named, { pool = 'pool', poolKind = 'AddressPool', asks, cluster, machine }: ClaimWish = {}) {
      const [namespace, name] = split(named)
      const owner = {
        apiVersion: 'infrastructure.example.com/v1',
        kind: 'Machine',
        name: machine,
        uid: `of-${machine}`,
      }
      await create(`${claimsPath}/namespaces/${namespace}/ipaddressclaims`, {
        apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
        kind: 'IPAddressClaim',
        metadata: {
          name,
          namespace,
          ...(asks !== undefined && { annotations: { 'mooring.dev/requested-address': asks } }),
          ...(machine !== undefined && { ownerReferences: [owner] }),
        },
        spec: {
          ...(cluster !== undefined && { clusterName: cluster }),
          poolRef: { apiGroup: 'mooring.dev', kind: poolKind, name: pool },
        },
      })
    },
    makeNetwork: (name, spec) =>
      create(`${toyPath}/toynetworks`, {
        apiVersion: 'toy.example.org/v1',
        kind: 'ToyNetwork',
        metadata: { name },
        spec,
      }),
    async makeBerth(named, spec: BerthWish) {
      const [namespace, name] = split(named)
      const metadata = { name, namespace }
      const path = `${toyPath}/namespaces/${namespace}/berths`
      await create(path, { apiVersion: 'toy.example.org/v1', kind: 'Berth', metadata, spec })
    },
    makeNamespace: (name, labels = {}) => create('/api/v1/namespaces', { metadata: { name, labels } }),
    makeCluster: (name, paused) =>
      create(`${clustersPath}/namespaces/default/clusters`, {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: { name, namespace: 'default' },
        spec: { paused },
      }),
    change: (kind, name, patch, poolKind) => send('PATCH', pathOf(kind, name, poolKind), patch),
    async remove(kind, name, poolKind) {
      await send('DELETE', pathOf(kind, name, poolKind))
    },
    untilBound: (...claims) =>
      wait(`${claims.join(', ')} bound`, () =>
        claims.every(name => {
          const claim = observer.claim(split(name).join('/'))
          return claim !== undefined && isBound(claim)
        }),
      ),
    untilServed: (...berths) => wait(`${berths.join(', ')} served`, () => berths.every(isServed)),
    async whoIsServed(...berths) {
      await wait(`one of ${berths.join(', ')} served`, () => berths.some(isServed))
      return berths.find(isServed) ?? berths[0] ?? ''
    },
    untilWaiting: (name, reason) =>
      wait(`${name} waits: ${reason}`, () => {
        const berth = observer.berths.get(split(name).join('/'))
        const ready = readyOf(berth?.status?.conditions)
        const isHeld = [...observer.holds.values(), ...observer.macHolds.values()].some(
          ({ spec, status }) => spec?.claimRef?.uid === berth?.metadata.uid && status?.state === 'held',
        )
        return ready?.status === 'False' && ready.reason === reason && !isHeld
      }),
    async whoIsBound(...claims) {
      const find = () =>
        claims.find(name => {
          const claim = observer.claim(split(name).join('/'))
          return claim !== undefined && isBound(claim)
        })
      await wait(`one of ${claims.join(', ')} bound`, () => find() !== undefined)
      return find() ?? claims[0] ?? ''
    },
    untilGone: (kind, ...names) =>
      wait(`${kind} ${names.join(', ')} gone`, () =>
        names.every(name => {
          if (kind === 'berth') return !observer.berths.has(split(name).join('/'))
          if (kind === 'claim') return !observer.claims.has(split(name).join('/'))
          if (kind === 'pool') return ![...observer.pools.keys()].some(key => key.endsWith(name))
          return !observer.namespaces.has(name)
        }),
      ),
    untilRefused: (name, reason) =>
      wait(`${name} refused: ${reason}`, () => {
        const ready = readyOf(observer.claim(split(name).join('/'))?.status?.conditions)
        return ready?.status === 'False' && ready.reason === reason
      }),
    async untilHeld(name) {
      const [namespace, claim] = split(name)
      await wait(`${name} held`, () =>
        [...observer.holds.values()].some(
          ({ spec }) => spec?.claimRef?.name === claim && spec.claimRef.namespace === namespace,
        ),
      )
    },
    untilChosen: name =>
      wait(`${name} chosen`, () => {
        const claim = observer.claim(split(name).join('/'))
        return claim !== undefined && choiceOf(claim) !== undefined
      }),
    pass: seconds => world.pass(seconds * 1000),
  }
}

const claimsPath = '/apis/ipam.cluster.x-k8s.io/v1beta2'
const toyPath = '/apis/toy.example.org/v1'
const clustersPath = '/apis/cluster.x-k8s.io/v1beta2'

function split(named: string): [string, string] {
  const [first = '', second] = named.split('/')
  return second === undefined ? ['default', first] : [first, second]
}

function pathOf(kind: Kind, named: string, poolKind: string | undefined): string {
  const [namespace, name] = split(named)
  switch (kind) {
    case 'claim':
      return `${claimsPath}/namespaces/${namespace}/ipaddressclaims/${name}`
    case 'cluster':
      return `${clustersPath}/namespaces/${namespace}/clusters/${name}`
    case 'berth':
      return `${toyPath}/namespaces/${namespace}/berths/${name}`
    case 'namespace':
      return `/api/v1/namespaces/${name}`
    case 'pool':
      if (poolKind === 'ClusterAddressPool') return `/apis/${poolPaths.ClusterAddressPool}/${name}`
      return `/apis/mooring.dev/v1alpha1/namespaces/${namespace}/addresspools/${name}`
  }
}
