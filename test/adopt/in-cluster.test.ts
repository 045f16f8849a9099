import { describe, expect, test } from 'vitest'
import { adoptWith } from '../../src/cli/adopt.ts'
import { exitCodes } from '../../src/cli/failure.ts'
import { ApiError } from '../../src/kube/api-error.ts'
import type { Client } from '../../src/kube/client.ts'
import { defineKind, type KubeObject } from '../../src/kube/object.ts'
import { aClaim, aCluster, anAddressFor, aPool, type ClaimDraft, ownerReferenceTo } from '../behaviours/builders.ts'
import { claims, holds, reports } from '../behaviours/kinds.ts'
import { aServedClaim, isServed } from '../behaviours/promises.ts'
import { aWorld, type Stored, type World } from '../behaviours/world.ts'

const registrations = defineKind<KubeObject>({
  group: 'admissionregistration.k8s.io',
  versions: ['v1'],
  plural: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
  namespaced: false,
})

const release = 'ipam.cluster.x-k8s.io/ReleaseAddress'
const protect = 'ipam.cluster.x-k8s.io/ProtectAddress'

/** A claim as the in-cluster provider leaves it. */
async function served(world: World, pool: Stored, draft: ClaimDraft, address: string): Promise<Stored> {
  const claim = await world.create(draft.guardedBy(release))
  await shown(world, draft, address, [ownerReferenceTo(claim), { ...ownerReferenceTo(pool), controller: false }])
  await world.patch(claim, { status: { addressRef: { name: claim.metadata.name } } }, 'status')
  return claim
}

function shown(world: World, draft: ClaimDraft, address: string, ownerReferences: object[], spec: object = {}) {
  const { object } = anAddressFor(draft, address)
  const metadata = { ...object.metadata, finalizers: [protect], ownerReferences }
  return world.create({ ...object, metadata, spec: { ...object.spec, ...spec } } as Stored)
}

interface Answer {
  readonly code: number
  readonly text: string
  readonly answer: {
    readonly summary: Record<string, number>
    readonly addresses: { outcome: string; address: string; claim: string; reason: string; message: string }[]
    readonly remarks: string[]
  }
}

async function adopt(
  world: World,
  options: { back?: boolean; dryRun?: boolean; output?: string; namespace?: string; watchFilter?: string } = {},
): Promise<Answer> {
  const { back = false, dryRun = true, output = 'json', namespace = '', watchFilter = '' } = options
  const scope = { namespace, watchFilter }
  let text = ''
  const tools = { client: world.client, nowMs: world.clock.now(), ownLease: 'mooring-controller' }
  const code = await adoptWith(
    tools,
    { ...(!back && { from: 'in-cluster' }), back, dryRun, output, ...scope },
    line => {
      text += line
    },
  )
  return { code, text, answer: output === 'json' ? JSON.parse(text) : {} }
}

async function aWorldBefore(): Promise<{ world: World; pool: Stored }> {
  const world = await aWorld()
  await world.desk.stop()
  return { world, pool: await world.create(aPool()) }
}

async function everything(world: World): Promise<Stored[]> {
  return [...(await world.list(claims)), ...(await world.list(reports)), ...(await world.list(holds))]
}

describe('Before Mooring takes over from the in-cluster provider', () => {
  test('every address has the verdict adopted, nothing is written, and the desk then does just that', async () => {
    const { world, pool } = await aWorldBefore()
    const made = await Promise.all(
      ['10.0.1.3', '10.0.1.1', '10.0.1.2'].map(address => served(world, pool, aClaim().on(pool), address)),
    )
    await world.create(aClaim().on(pool))
    const before = await everything(world)
    const { code, answer } = await adopt(world, { dryRun: false })
    expect(code).toBe(0)
    expect(answer.summary).toEqual({ adopted: 3 })
    expect(answer.addresses.map(({ address }) => address)).toEqual(['10.0.1.1', '10.0.1.2', '10.0.1.3'])
    expect(answer.remarks.join(' ')).toContain('1 claim waits')
    expect(await everything(world)).toEqual(before)
    await world.desk.start()
    for (const claim of made) await isServed(world, claim)
    expect((await adopt(world)).answer.addresses.map(({ reason }) => reason)).toEqual(['Held', 'Held', 'Held', 'Held'])
  })

  test('an address that its pool does not list is adopted, and the verdict says so', async () => {
    const { world, pool } = await aWorldBefore()
    await served(world, pool, aClaim().on(pool), '10.9.9.9')
    const { code, answer } = await adopt(world)
    expect(code).toBe(0)
    expect(answer.addresses).toMatchObject([{ outcome: 'adopted', reason: 'NotOffered' }])
  })

  test('two claims with one address are both refused, and each verdict names the other', async () => {
    const { world, pool } = await aWorldBefore()
    const [one, other] = [aClaim().on(pool), aClaim().on(pool)]
    await served(world, pool, one, '10.0.1.7')
    await served(world, pool, other, '10.0.1.7')
    const { code, answer } = await adopt(world)
    expect(code).toBe(exitCodes.refused)
    expect(answer.summary).toEqual({ refused: 2 })
    const told = answer.addresses.find(({ claim }) => claim.endsWith(one.object.metadata.name ?? ''))
    expect(told?.message).toContain(`IPAddress ${world.home}/${other.object.metadata.name}`)
    await world.desk.start()
    await world.always(async () => expect(await world.list(holds)).toEqual([]), 1_000)
  })

  test.each<[string, string, (world: World, pool: Stored) => Promise<unknown>]>([
    [
      'whose claim is gone',
      'ClaimMissing',
      async (world, pool) => {
        const gone = { ...ownerReferenceTo(pool), kind: 'IPAddressClaim', name: 'gone', uid: 'gone' }
        await shown(world, aClaim().on(pool), '10.0.1.7', [gone, { ...ownerReferenceTo(pool), controller: false }])
      },
    ],
    [
      'that was made for an earlier claim of the same name',
      'EarlierClaim',
      async (world, pool) => {
        const draft = aClaim().on(pool)
        const claim = await world.create(draft)
        await shown(world, draft, '10.0.1.7', [{ ...ownerReferenceTo(claim), uid: 'earlier' }])
      },
    ],
    [
      'that has another name than its claim',
      'NameMismatch',
      async (world, pool) => {
        const claim = await world.create(aClaim().on(pool))
        const owners = [ownerReferenceTo(claim)]
        await shown(world, aClaim().on(pool), '10.0.1.7', owners, { claimRef: { name: claim.metadata.name } })
      },
    ],
    [
      'that is for another pool than its claim',
      'WrongPool',
      async (world, pool) => {
        const draft = aClaim()
        const claim = await world.create(draft.on(await world.create(aPool())))
        await shown(world, draft.on(pool), '10.0.1.7', [ownerReferenceTo(claim)])
      },
    ],
    [
      'that contradicts the choice of its claim',
      'Contradiction',
      async (world, pool) => {
        const draft = aClaim().on(pool).annotated({ 'mooring.dev/address': '10.0.1.8' })
        const claim = await world.create(draft)
        await shown(world, draft, '10.0.1.7', [ownerReferenceTo(claim)])
      },
    ],
    [
      'of a pool that does not exist',
      'PoolNotFound',
      async (world, pool) => {
        await served(world, pool, aClaim().on({ ...pool, metadata: { name: 'no-such-pool' } }), '10.0.1.7')
      },
    ],
    ['that is no address', 'NotAnAddress', async (world, pool) => served(world, pool, aClaim().on(pool), 'ten')],
    [
      'that a claim lost',
      'AddressInUse',
      async (world, pool) => {
        const claim = await world.create(aClaim().on(pool).guardedBy(release))
        await world.patch(claim, { status: { addressRef: { name: claim.metadata.name } } }, 'status')
      },
    ],
  ])('an address %s is refused', async (_what, reason, make) => {
    const { world, pool } = await aWorldBefore()
    await make(world, pool)
    const { code, answer } = await adopt(world)
    expect(answer.addresses).toMatchObject([{ outcome: 'refused', reason }])
    expect(code).toBe(exitCodes.refused)
  })

  test('an address that another claim holds in the ledger is refused', async () => {
    const { world, pool } = await aWorldBefore()
    await world.desk.start()
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    await world.desk.stop()
    await served(world, pool, aClaim().on(pool), '10.0.1.1')
    const { answer } = await adopt(world)
    expect(answer.summary).toEqual({ adopted: 1, refused: 1 })
    expect(answer.addresses.find(({ outcome }) => outcome === 'refused')).toMatchObject({ reason: 'AddressInUse' })
  })

  test('what is paused waits, what is deleted leaves, what was made by hand is left alone', async () => {
    const { world, pool } = await aWorldBefore()
    const cluster = aCluster().pausedBySpec()
    await world.create(cluster)
    await served(world, pool, aClaim().on(pool).forCluster(cluster.name), '10.0.1.1')
    await world.delete(await served(world, pool, aClaim().on(pool), '10.0.1.2'))
    await world.create(anAddressFor(aClaim().on(pool), '10.0.1.3'))
    const { code, answer } = await adopt(world)
    expect(code).toBe(0)
    expect(answer.addresses.map(({ outcome }) => outcome)).toEqual(['waits', 'leaves', 'left alone'])
  })

  test('only what the controller will serve has a verdict, where it serves one namespace or some claims', async () => {
    const { world, pool } = await aWorldBefore()
    const elsewhere = await world.anotherNamespace()
    const there = await world.create({ ...aPool().object, metadata: { name: 'there', namespace: elsewhere } })
    const [ours, theirs, away] = [aClaim().on(pool), aClaim().on(pool), aClaim().on(there).in(elsewhere)]
    const labelled = await served(world, pool, ours, '10.0.1.1')
    await served(world, pool, theirs, '10.0.1.2')
    await served(world, there, away, '10.0.1.3')
    await world.create(aClaim().on(pool))
    await world.patch(labelled, { metadata: { labels: { 'cluster.x-k8s.io/watch-filter': 'ours' } } })
    const told = async (scope: { namespace?: string; watchFilter?: string }) => {
      const { addresses, remarks } = (await adopt(world, scope)).answer
      return [addresses.map(({ address }) => address).toSorted(), remarks.join(' ').includes('1 claim waits')]
    }
    expect(await told({})).toEqual([['10.0.1.1', '10.0.1.2', '10.0.1.3'], true])
    expect(await told({ namespace: world.home })).toEqual([['10.0.1.1', '10.0.1.2'], true])
    expect(await told({ namespace: elsewhere })).toEqual([['10.0.1.3'], false])
    expect(await told({ watchFilter: 'ours' })).toEqual([['10.0.1.1'], false])
  })

  test('people read a table', async () => {
    const { world, pool } = await aWorldBefore()
    await served(world, pool, aClaim().named('web-0').on(pool), '10.0.1.1')
    const { text } = await adopt(world, { output: 'table' })
    const [head, row, summary] = text.split('\n')
    expect(head).toMatch(/^OUTCOME +ADDRESS +POOL +CLAIM +WHY$/)
    expect(row).toMatch(/^adopted +10\.0\.1\.1 +InClusterIPPool .* +.*\/web-0$/)
    expect(summary).toBe('1 adopted')
  })
})

describe('The way back to the in-cluster provider', () => {
  test('leaves claims and IPAddresses as that provider would have them, and no trace of Mooring', async () => {
    const { world, pool } = await aWorldBefore()
    await world.desk.start()
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    await world.desk.stop()
    const report = await world.report(claim)
    const plan = await adopt(world, { back: true })
    expect(plan.code).toBe(0)
    expect(await world.list(holds)).toHaveLength(1)
    expect((await adopt(world, { back: true, dryRun: false })).answer.summary).toEqual({ adopted: 1 })
    expect(await world.list(holds)).toEqual([])
    expect(await world.report(claim)).toEqual(report)
    const left = await world.get(claim)
    expect(left?.metadata.annotations ?? {}).toEqual({})
    expect(left?.metadata.finalizers).toEqual([release])
    expect(left?.status?.addressRef).toEqual({ name: claim.metadata.name })
  })

  test('can be gone again: Mooring adopts the same addresses once more', async () => {
    const { world, pool } = await aWorldBefore()
    await world.desk.start()
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    await world.desk.stop()
    await adopt(world, { back: true, dryRun: false })
    await world.create(aClaim().named('a-late-one').on(pool))
    await world.desk.start()
    await world.eventually(async () => expect(await world.list(holds)).toHaveLength(2))
    await isServed(world, claim, '10.0.1.1')
  })

  test('is refused for a claim whose IPAddress is missing: its hold and its choice stay', async () => {
    const { world, pool } = await aWorldBefore()
    await world.desk.start()
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    await world.desk.stop()
    const report = await world.report(claim)
    if (report === undefined) throw new Error('it was served')
    await world.patch(report, { metadata: { finalizers: null } })
    await world.delete(report)
    const { code, answer } = await adopt(world, { back: true, dryRun: false })
    expect(code).toBe(exitCodes.refused)
    expect(answer.addresses).toMatchObject([{ outcome: 'refused', reason: 'NoIPAddress' }])
    expect(await world.list(holds)).toHaveLength(1)
    await world.desk.start()
    await isServed(world, claim, '10.0.1.1')
  })

  test.each<[string, (world: World, claim: Stored) => object]>([
    ['of another namespace', (_, claim) => ({ namespace: claim.metadata.namespace })],
    ['that another controller serves', () => ({ watchFilter: 'ours' })],
  ])('leaves claims %s, and their holds, as they are', async (_what, scope) => {
    const { world, pool } = await aWorldBefore()
    const elsewhere = await world.anotherNamespace()
    const there = await world.create({ ...aPool().object, metadata: { name: 'there', namespace: elsewhere } })
    await world.desk.start()
    const ours = await aServedClaim(world, aClaim().on(pool))
    const theirs = await aServedClaim(world, aClaim().on(there).in(elsewhere))
    await world.patch(ours, { metadata: { labels: { 'cluster.x-k8s.io/watch-filter': 'ours' } } })
    await world.desk.stop()
    const before = await world.get(theirs)
    await adopt(world, { back: true, dryRun: false, ...scope(world, ours) })
    expect((await world.list(holds)).map(({ spec }) => spec.claimRef.uid)).toEqual([theirs.metadata.uid])
    expect(await world.get(theirs)).toEqual(before)
    expect((await world.get(ours))?.metadata.annotations ?? {}).toEqual({})
  })

  test('is refused while Mooring runs', async () => {
    const { world } = await aWorldBefore()
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'mooring-controller', namespace: world.home },
      spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 15, renewTime: new Date(world.clock.now()).toISOString() },
    }
    const { leases } = await import('../../src/kube/lease.ts')
    await world.client.create(leases, {
      ...lease,
      spec: { ...lease.spec, renewTime: lease.spec.renewTime.replace('Z', '000Z') },
    })
    await expect(adopt(world, { back: true, dryRun: false })).rejects.toThrow('Mooring runs: pod-1')
  })

  test('is refused on a server that runs desks itself, and has no lease', async () => {
    const { world } = await aWorldBefore()
    await world.client.create(registrations, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'mooring-validating-webhook-configuration' },
      webhooks: [
        {
          name: 'validation.addresspool.mooring.dev',
          clientConfig: { url: 'https://127.0.0.1:1/validate' },
          rules: [],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    } as KubeObject)
    await expect(adopt(world, { back: true, dryRun: false })).rejects.toThrow(
      'this server is a `mooring up` with desks',
    )
    expect((await adopt(world, { back: true })).code).toBe(0)
  })

  test.each([
    ['Conflict', 'a Mooring without --leader-elect'],
    ['Forbidden', 'the permissions of that user'],
    ['Unreachable', 'Check the server that the kubeconfig names'],
  ] as const)('that meets %s says what caused it, and what to do', async (reason, advice) => {
    const { world, pool } = await aWorldBefore()
    await world.desk.start()
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    await world.desk.stop()
    const cause = new Error('connect ECONNREFUSED')
    const refuse = () => Promise.reject(new ApiError('patch claims: no', { reason, code: 0 }, { cause }))
    const client = new Proxy(world.client, {
      get(real, name: keyof Client) {
        return name === 'mergePatch' ? refuse : real[name].bind(real)
      },
    })
    const refusal = await adopt({ ...world, client, clock: world.clock } as World, { back: true, dryRun: false }).catch(
      (error: unknown) => error,
    )
    expect(refusal).toMatchObject({
      exitCode: exitCodes.environment,
      message: 'patch claims: no: connect ECONNREFUSED',
      advice: expect.stringContaining(advice),
    })
  })
})

test('An address whose claim clusterctl takes to another cluster waits, and its pool is not called paused', async () => {
  const { world, pool } = await aWorldBefore()
  const claim = await served(world, pool, aClaim().on(pool), '10.0.1.1')
  const conditions = [
    { type: 'Ready', status: 'True', reason: 'x', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' },
  ]
  await world.patch(claim, { status: { conditions } }, 'status')
  await world.patch(claim, { metadata: { annotations: { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' } } })
  const report = (await world.report(claim)) as Stored
  await world.patch(report, { metadata: { finalizers: null } })
  await world.delete(report)
  const { addresses } = (await adopt(world)).answer
  expect(addresses).toMatchObject([{ outcome: 'waits', reason: 'Moving' }])
})
