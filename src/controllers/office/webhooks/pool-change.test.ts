// What answers about pools say of other pools and of holders, and to whom. What kinds of pool refuse by themselves is beside
// their own files.

import { describe, expect, test } from 'vitest'
import { held, nothing, pools } from '../../../../test/harness/pool-facts.ts'
import { reasonsOf } from '../../../../test/harness/reasons-of.ts'
import { type RefusalReason, refuse } from '../../../ipam/refusal.ts'
import type { PoolFacts } from '../pool-facts.ts'
import { admitAddressPool } from './address-pool.ts'
import { admitInClusterPool } from './in-cluster-pool.ts'

type Spec = Record<string, unknown>

const spec: Spec = { addresses: ['10.0.0.0/24'], prefix: 24 }

/** Of a namespace, or of the cluster where that is empty. */
function aPool(namespace: string, name: string, more: Spec = {}) {
  const kind = namespace === '' ? 'ClusterAddressPool' : 'AddressPool'
  const metadata = { name, uid: `${name}-uid`, ...(namespace !== '' && { namespace }) }
  return { apiVersion: 'mooring.dev/v1alpha1', kind, metadata, spec: { ...spec, ...more } }
}

const textsOf = (ruling: ReturnType<typeof admitAddressPool>) => [...reasonsOf(ruling), ...ruling.warnings].join('\n')

const proven = true

describe('a pool that asks for a space', () => {
  const why = (reason: RefusalReason): PoolFacts => ({
    ...nothing,
    whySpaceRefused: () => refuse(reason, 'the sentence'),
  })
  const asking = aPool('team-a', 'mine', { space: 'blue' })

  test('which is not offered is refused', () => {
    expect(admitAddressPool(undefined, asking, why('SpaceNotOffered'))).toMatchObject({
      kind: 'invalid',
      faults: [{ field: 'spec.space', message: expect.stringContaining('the sentence') }],
    })
  })

  test('of a pool that is not there, or elsewhere, is warned, and only where it may be told what there is', () => {
    const ruling = (isProven: boolean) => admitAddressPool(undefined, asking, why('SpaceUndecided'), isProven)
    expect(ruling(true)).toMatchObject({ kind: 'allowed', warnings: ['spec.space: the sentence'] })
    expect(ruling(false)).toMatchObject({ kind: 'allowed', warnings: [] })
  })
})

describe('what a pool says about overlaps', () => {
  const create = (pool: object, other: object) => admitAddressPool(undefined, pool, pools(other), proven)
  const deny = { overlapPolicy: 'deny' }
  const off = { overlapPolicy: 'off' }

  test.each<[string, object, object, 'allowed' | 'invalid']>([
    ['of an administrator binds all', aPool('team-a', 'mine'), aPool('', 'prod', deny), 'invalid'],
    ['of an administrator is not overruled', aPool('team-a', 'mine', off), aPool('', 'prod', deny), 'invalid'],
    ['of one administrator binds the other', aPool('', 'mine', off), aPool('', 'prod', deny), 'invalid'],
    ['of a namespace binds it', aPool('team-a', 'mine', off), aPool('team-a', 'prod', deny), 'invalid'],
    ['of a namespace does not bind the cluster', aPool('', 'mine'), aPool('team-a', 'hog', deny), 'allowed'],
    ['of a namespace does not bind others', aPool('team-b', 'mine'), aPool('team-a', 'hog', deny), 'allowed'],
    ['binds itself', aPool('team-b', 'mine', deny), aPool('team-a', 'hog'), 'invalid'],
  ])('%s', (_, pool, other, kind) => {
    expect(create(pool, other).kind).toBe(kind)
  })

  test('silences its own warnings, and not those of others', () => {
    expect(create(aPool('', 'mine', off), aPool('', 'other')).warnings).toEqual([])
    expect(create(aPool('', 'mine'), aPool('', 'other', off)).warnings).toHaveLength(1)
  })

  test('is written down in the refusal where another pool said it', () => {
    const [reason] = reasonsOf(create(aPool('team-a', 'mine'), aPool('', 'prod', deny)))
    expect(reason).toContain('its overlapPolicy is deny')
  })
})

describe('an overlap is told', () => {
  const wide = { addresses: ['192.0.2.7', '10.0.0.0/8'], prefix: 0 }
  const secret = { addresses: ['10.77.0.16-10.77.0.31', '10.78.0.1'], prefix: 0 }

  test.each([
    ['a pool of the cluster', ''],
    ['a pool of another namespace', 'team-b'],
  ])('to the author of a pool of a namespace as %s that meets an entry of theirs, and no more', (text, namespace) => {
    for (const policy of ['warn', 'deny']) {
      const mine = { ...wide, overlapPolicy: policy }
      const ruling = (space: Spec) =>
        admitAddressPool(
          undefined,
          aPool('team-a', 'mine', { ...mine, ...space }),
          pools(aPool(namespace, 'merger', { ...secret, ...space })),
          proven,
        )
      const said = textsOf(ruling({}))
      expect(said).toContain('spec.addresses[1]')
      expect(said).toContain('10.0.0.0/8')
      expect(said).toContain(`${text} lists some of these addresses`)
      expect(said).not.toMatch(/merger|team-b|10\.7[78]/)
      // A space that was guessed is not confirmed by the words.
      if (namespace === '') expect(textsOf(ruling({ space: 'acme' }))).toBe(said)
    }
  })

  test('once, however many pools that are not seen meet it', () => {
    const others = Array.from({ length: 30 }, (_, i) => aPool('team-b', `p-${i}`, secret))
    const { warnings } = admitAddressPool(undefined, aPool('team-a', 'mine', wide), pools(...others), proven)
    expect(warnings).toHaveLength(1)
  })

  test('to an administrator with its pool and ranges', () => {
    const other = pools(aPool('team-b', 'lab', secret))
    const [warning] = admitAddressPool(undefined, aPool('', 'mine', wide), other, proven).warnings
    expect(warning).toBe(
      'spec.addresses: 10.77.0.16-10.77.0.31 and 1 more range: AddressPool team-b/lab lists the same addresses, ' +
        'and an address may come to be held twice',
    )
  })
})

describe('a request that any client may have made up', () => {
  const unknown: Partial<PoolFacts> = { isStored: (_, uid) => uid === 'true-uid' }
  const facts: PoolFacts = {
    ...held('10.0.0.7'),
    ...unknown,
    claimsOf: () => [{ namespace: 'team-b', name: 'vault' }],
    pools: () => pools(aPool('', 'prod', { addresses: ['10.0.0.64/26'] }), aPool('team-b', 'lab')).pools(),
  }
  const known = (pool: ReturnType<typeof aPool>) => ({ ...pool, metadata: { ...pool.metadata, uid: 'true-uid' } })
  const smaller = { addresses: ['10.0.0.200'] }

  test.each([
    ['of the cluster', ''],
    ['of a namespace', 'team-b'],
  ])('to create a pool %s learns of no name and no range', (_, namespace) => {
    for (const overlapPolicy of ['warn', 'deny']) {
      const made = { addresses: ['0.0.0.0/0'], prefix: 0, overlapPolicy }
      const said = textsOf(admitAddressPool(undefined, aPool(namespace, 'forged', made), facts))
      expect(said).toContain('lists some of these addresses')
      expect(said).not.toMatch(/prod|lab|vault|10\.0\.0/)
    }
  })

  test('to change or delete a pool learns what is held only if it knows the uid', () => {
    const pool = aPool('team-b', 'web')
    const next = { ...pool, spec: { ...spec, ...smaller } }
    expect(textsOf(admitAddressPool(pool, next, facts))).not.toContain('10.0.0.7')
    expect(textsOf(admitAddressPool(known(pool), known(next), facts))).toContain('10.0.0.7')
    expect(admitAddressPool(pool, undefined, facts)).toEqual({ kind: 'allowed', warnings: [] })
    expect(textsOf(admitAddressPool(known(pool), undefined, facts))).toContain('vault')
    const moved = { ...pool, spec: { ...spec, space: 'blue' } }
    expect(textsOf(admitAddressPool(pool, moved, facts))).not.toContain('held:')
  })

  test('is answered in full where an API server made it', () => {
    const pool = aPool('', 'web')
    const next = { ...pool, spec: { ...spec, ...smaller } }
    expect(textsOf(admitAddressPool(pool, next, facts, proven))).toContain('10.0.0.7')
    expect(textsOf(admitAddressPool(undefined, pool, facts, proven))).toContain('ClusterAddressPool prod')
  })
})

describe('a pool with holders is not deleted', () => {
  const claims = (count: number): PoolFacts => ({
    ...nothing,
    isHeld: () => true,
    claimsOf: () => Array.from({ length: count }, (_, i) => ({ namespace: 'team-a', name: `web-${i}` })),
  })

  test.each([
    ['team-a', 1, 'the pool is in use: 1 claim holds addresses of it (web-0): delete the claims'],
    ['team-a', 5, 'the pool is in use: 5 claims hold addresses of it (web-0, web-1, web-2 and 2 more): delete'],
    ['', 2, 'the pool is in use: 2 claims hold addresses of it (team-a/web-0, team-a/web-1): delete the claims'],
    ['', 0, 'the pool is in use: IPAddresses without a hold name it: `kubectl get ipaddresses -A` shows them'],
  ])('in namespace "%s" with %i claims, and says which', (namespace, count, text) => {
    const [reason] = reasonsOf(admitAddressPool(aPool(namespace, 'web'), undefined, claims(count)))
    expect(reason).toContain(text)
  })

  test('and one of the in-cluster kinds says so in the words that its users know, then in ours', () => {
    const pool = { ...aPool('team-a', 'web'), apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool' }
    expect(reasonsOf(admitInClusterPool(pool, undefined, claims(1)))).toEqual([
      'Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed. ' +
        '1 claim holds addresses of it (web-0): delete the claims; `kubectl get holds` shows what is held',
    ])
  })
})
