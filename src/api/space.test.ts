import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isScope, scopeCharsMax } from '../ip/object-name.ts'
import { identityKey, parseIdentityKey } from './object.ts'
import {
  clusterSpaceCharsMax,
  isSpace,
  isSpaceName,
  readableKinds,
  scopeOfSpace,
  spaceOfNamespace,
  spaceOfPool,
} from './space.ts'
import { ownPoolKinds } from './to-pool.ts'

const pool = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', namespace: 'default', name: 'vms' }

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,12}[a-z0-9])?$/)
const clusterSpace = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,20}$/),
  fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{100,252}$/),
  // Names that look as a scope does.
  fc.constantFrom(
    'escaped',
    'digest',
    'x.escaped',
    'x-2d.escaped',
    'vms.default.inclusterippool.ipam.cluster.x-k8s.io',
  ),
)
const subdomain = fc.oneof(
  fc.array(label, { minLength: 1, maxLength: 4 }).map(labels => labels.join('.')),
  // A name that ends as if it had a namespace.
  fc.constantFrom('vms', 'vms.default'),
)
const someKind = fc.oneof(
  fc.constantFrom(...ownPoolKinds.map(({ group, kind }) => ({ group, kind }))),
  fc.constantFrom(
    { group: 'installer.openshift.io', kind: 'IPPool' },
    { group: 'dev', kind: 'Mooring' },
    // As if the pool's namespace were a kind.
    { group: 'default.inclusterippool.ipam.cluster.x-k8s.io', kind: 'Vms' },
  ),
)
const poolSpace = fc
  .record({ of: someKind, namespace: fc.oneof(fc.constant(''), fc.constant('default'), label), name: subdomain })
  .map(({ of, namespace, name }) => spaceOfPool({ apiGroup: of.group, kind: of.kind, namespace, name }))
const namespaceSpace = fc.tuple(label, clusterSpace).map(([namespace, name]) => spaceOfNamespace(namespace, name))
const anySpace = fc.oneof(clusterSpace, poolSpace, namespaceSpace)

describe('a space', () => {
  test.each(['blue', 'cluster_udn_blue', 'Tenant.Red', '0', 'a'.repeat(253), 'ClusterAddressPool.mooring.dev/lab'])(
    'may be asked for as %s',
    text => {
      expect(isSpaceName(text)).toBe(true)
    },
  )

  test.each([
    '',
    '-blue',
    '_blue',
    '.blue',
    'blue!',
    'bl ue',
    'blü',
    'a'.repeat(clusterSpaceCharsMax + 1),
    'team-a/blue',
    'ClusterAddressPool.mooring.dev/',
    'ClusterAddressPool.mooring.dev//lab',
    'ClusterAddressPool.mooring.dev/a/b/c',
    'ClusterAddressPool./lab',
    'pool.mooring.dev/lab',
    'ClusterAddressPool.mooring.dev/Lab',
    'AddressPool.mooring.dev/a.b/lab',
  ])('may not be asked for as %j', text => {
    expect(isSpaceName(text)).toBe(false)
  })

  test('of a namespace is one that holds may be in, under any name that spaces have', () => {
    expect(isSpace('team-a/cluster_udn_blue')).toBe(true)
    for (const text of ['team.a/blue', 'Team/blue', '/blue', 'team-a/', 'team-a/blue/red', '']) {
      expect(isSpace(text), text).toBe(false)
    }
  })
})

describe('the scope of a space', () => {
  test.each([
    ['blue', 'blue'],
    ['escaped', 'escaped'],
    ['Tenant.Red', 'x-54enant-2e-52ed.escaped'],
    ['cluster_udn_blue', 'xcluster-5fudn-5fblue.escaped'],
    ['a.b', 'xa-2eb.escaped'],
    ['team-a/blue', 'blue.team-a.namespace'],
    ['team-a/Blue_wire', 'xteam-2da-2f-42lue-5fwire.escaped'],
    [spaceOfPool(pool), 'vms.default.inclusterippool.ipam.cluster.x-k8s.io'],
    ['ClusterAddressPool.mooring.dev/lab', 'lab.clusteraddresspool.mooring.dev'],
    // A kind of a namespace without one, and a kind that is not known.
    ['AddressPool.mooring.dev/lab', 'x-41ddress-50ool-2emooring-2edev-2flab.escaped'],
    ['IPPool.example.org/lab', 'x-49-50-50ool-2eexample-2eorg-2flab.escaped'],
    // A new label begins before an escape that would not fit.
    [`${'a'.repeat(60)}_b`, `x${'a'.repeat(60)}.x-5fb.escaped`],
  ])('of %s is %s', (space, scope) => {
    expect(scopeOfSpace(space)).toBe(scope)
  })

  test('is a digest where it would be too long', () => {
    const long = { ...pool, name: `${'x'.repeat(63)}.${'x'.repeat(63)}.${'x'.repeat(63)}` }
    for (const space of [spaceOfPool(long), spaceOfPool({ ...pool, name: 'x'.repeat(64) }), `A${'b'.repeat(252)}`]) {
      expect(scopeOfSpace(space)).toMatch(/^[0-9a-f]{32}\.[0-9a-f]{32}\.digest$/)
    }
  })

  test('is legal in a name, and of no other space', () => {
    fc.assert(
      fc.property(anySpace, anySpace, (one, other) => {
        expect(isSpace(one)).toBe(true)
        expect(isScope(scopeOfSpace(one))).toBe(true)
        expect(scopeOfSpace(one).length).toBeLessThanOrEqual(scopeCharsMax)
        expect(scopeOfSpace(one) === scopeOfSpace(other)).toBe(one === other)
      }),
      { numRuns: 2000 },
    )
  })

  test('leads back to the space, unless it is a digest', () => {
    fc.assert(
      fc.property(anySpace, space => {
        const scope = scopeOfSpace(space)
        if (!scope.endsWith('.digest')) expect(spaceOf(scope)).toBe(space)
      }),
      { numRuns: 2000 },
    )
  })

  test('can be taken apart: no known kind is how the scope of another ends', () => {
    const ends = [...readableKinds.keys()].map(kind => kind.toLowerCase())
    for (const end of ends) expect(ends.filter(other => `.${other}`.endsWith(`.${end}`))).toEqual([end])
  })

  test('is readable for every kind of pool of ours, and for networks of a namespace', () => {
    const own = ownPoolKinds.map(({ kind, group, isNamespaced }) => [
      `${kind}.${group}`,
      isNamespaced ? 'namespace' : 'cluster',
    ])
    expect([...readableKinds]).toEqual([...own, ['NetworkAttachmentDefinition.k8s.cni.cncf.io', 'namespace']])
    const space = 'NetworkAttachmentDefinition.k8s.cni.cncf.io/red/vms'
    expect(scopeOfSpace(space)).toBe('vms.red.networkattachmentdefinition.k8s.cni.cncf.io')
  })

  test('of no space at all is a fault of the caller', () => {
    expect(() => scopeOfSpace('')).toThrow(RangeError)
  })
})

/** The way back. */
function spaceOf(scope: string): string {
  if (!scope.includes('.')) return scope
  if (scope.endsWith('.escaped')) {
    const labels = scope.split('.').slice(0, -1)
    const text = labels.map(one => one.slice(1)).join('')
    return text.replaceAll(/-([0-9a-f]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
  }
  if (scope.endsWith('.namespace')) {
    const [name = '', namespace = ''] = scope.split('.')
    return `${namespace}/${name}`
  }
  for (const [kind, of] of readableKinds) {
    const end = `.${kind.toLowerCase()}`
    if (!scope.endsWith(end)) continue
    const path = scope.slice(0, -end.length)
    const dot = path.lastIndexOf('.')
    return of === 'cluster' ? `${kind}/${path}` : `${kind}/${path.slice(dot + 1)}/${path.slice(0, dot)}`
  }
  throw new Error(scope)
}

describe('the key of an object', () => {
  test.each([
    [pool, 'InClusterIPPool.ipam.cluster.x-k8s.io/default/vms'],
    [
      { apiGroup: 'mooring.dev', kind: 'ClusterAddressPool', namespace: '', name: 'a.b' },
      'ClusterAddressPool.mooring.dev/a.b',
    ],
    [{ apiGroup: '', kind: 'Node', namespace: '', name: 'n' }, 'Node./n'],
  ])('of %j is %s, and leads back', (identity, key) => {
    expect(identityKey(identity)).toBe(key)
    expect(parseIdentityKey(key)).toEqual(identity)
  })

  test.each(['', 'blue', 'team-a/blue', 'A.b', 'A.b/', 'A.b//c', 'A.b/c/d/e', '.b/c'])('is not %j', text => {
    expect(parseIdentityKey(text)).toBeUndefined()
  })
})
