import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { held, nothing } from '../../test/harness/review-facts.ts'
import { answerConversionReview } from './conversion.ts'
import { answerAdmissionReview } from './review.ts'
import { type Facts, type Webhook, webhooks } from './webhooks.ts'

const facts: Facts = { ...nothing, poolOfClaim: () => undefined, addressOfReport: () => undefined }

function webhookAt(path: string): Webhook {
  const found = webhooks.find(webhook => webhook.path === path)
  if (found === undefined) throw new Error(`nothing is answered at ${path}`)
  return found
}

const validatePool = webhookAt('/validate-ipam-cluster-x-k8s-io-v1alpha2-inclusterippool')
const defaultPrefixPool = webhookAt('/mutate-ipam-cluster-x-k8s-io-v1alpha2-inclusterprefixpool')

interface Answer {
  readonly apiVersion: string
  readonly kind: string
  readonly response: {
    readonly uid: string
    readonly allowed: boolean
    readonly status?: { readonly code: number; readonly message: string; readonly reason: string }
    readonly warnings?: readonly string[]
    readonly patch?: string
    readonly patchType?: string
  }
}

const errors: unknown[] = []

function ask(body: unknown, webhook = validatePool, known: () => Facts | undefined = () => facts): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return JSON.parse(answerAdmissionReview(text, { webhook, facts: known, onError: error => errors.push(error) }))
}

const review = (request: object, apiVersion = 'admission.k8s.io/v1') => ({
  apiVersion,
  kind: 'AdmissionReview',
  request: { uid: 'u-1', ...request },
})

const pool = (spec: object = { addresses: ['10.0.0.10'], prefix: 24 }, kind = 'InClusterIPPool') => ({
  apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
  kind,
  metadata: { name: 'vms', namespace: 'default' },
  spec,
})

describe('an AdmissionReview', () => {
  test('of a good pool is answered with yes and its uid', () => {
    expect(ask(review({ operation: 'CREATE', object: pool() }))).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'u-1', allowed: true },
    })
  })

  test('of a bad pool is answered with no, every fault, and the code of an invalid object', () => {
    const { response } = ask(review({ operation: 'CREATE', object: pool({ addresses: ['x'], gateway: 'y' }) }))
    expect(response).toMatchObject({ uid: 'u-1', allowed: false, status: { code: 422, reason: 'Invalid' } })
    expect(response.status?.message).toBe(
      'InClusterIPPool.ipam.cluster.x-k8s.io "vms" is invalid: [' +
        'spec.addresses: Invalid value: "x": provided address is not a valid IP, range, nor CIDR, ' +
        'spec.gateway: Invalid value: "y": ParseAddr("y"): unable to parse IP]',
    )
  })

  test('of an odd pool is answered with yes and a warning', () => {
    const object = pool({ addresses: ['10.0.0.10'], prefix: 24, gateway: '10.9.9.9' })
    const { response } = ask(review({ operation: 'CREATE', object }))
    expect(response).toMatchObject({ allowed: true, warnings: [expect.stringContaining('spec.gateway')] })
  })

  test('of a deletion looks at the object as it was', () => {
    const known = { ...facts, ...held('10.0.0.10') }
    const { response } = ask(
      review({ operation: 'DELETE', object: null, oldObject: pool() }),
      validatePool,
      () => known,
    )
    expect(response).toMatchObject({ allowed: false, status: { code: 400, reason: 'BadRequest' } })
  })

  test('in the older version is answered in the older version', () => {
    const request = { operation: 'CREATE', object: pool() }
    expect(ask(review(request, 'admission.k8s.io/v1beta1')).apiVersion).toBe('admission.k8s.io/v1beta1')
  })

  test('of a status is answered with yes: it is not ours to judge', () => {
    const request = { operation: 'UPDATE', subResource: 'status', object: pool({}), oldObject: pool() }
    expect(ask(review(request)).response.allowed).toBe(true)
  })

  test('of another kind is answered with no', () => {
    const object = pool({}, 'Secret')
    expect(ask(review({ operation: 'CREATE', object })).response).toMatchObject({
      allowed: false,
      status: { code: 400 },
    })
  })

  test('is answered with no and "try again" while the world is not known', () => {
    const { response } = ask(review({ operation: 'CREATE', object: pool() }), validatePool, () => undefined)
    expect(response).toMatchObject({ uid: 'u-1', allowed: false, status: { code: 503 } })
  })

  test('that meets a fault of our own is answered with no, and the fault is written down', () => {
    errors.length = 0
    const broken = () => {
      throw new Error('broken')
    }
    const { response } = ask(review({ operation: 'CREATE', object: pool() }), validatePool, broken)
    expect(response).toMatchObject({ uid: 'u-1', allowed: false, status: { code: 500, reason: 'InternalError' } })
    expect(errors).toEqual([new Error('broken')])
  })

  test('of a prefix pool without a length adds the usual one', () => {
    const object = pool({ prefixes: ['fd00::/48'] }, 'InClusterPrefixPool')
    const { response } = ask(review({ operation: 'CREATE', object }), defaultPrefixPool)
    expect(response).toMatchObject({ allowed: true, patchType: 'JSONPatch' })
    expect(JSON.parse(Buffer.from(response.patch ?? '', 'base64').toString())).toEqual([
      { op: 'add', path: '/spec/allocationPrefixLength', value: 64 },
    ])
  })

  test('of a prefix pool with a length changes nothing', () => {
    const object = pool({ prefixes: ['fd00::/48'], allocationPrefixLength: 56 }, 'InClusterPrefixPool')
    expect(ask(review({ operation: 'CREATE', object }), defaultPrefixPool).response).toEqual({
      uid: 'u-1',
      allowed: true,
    })
  })
})

describe('whatever arrives', () => {
  const operations = fc.constantFrom('CREATE', 'UPDATE', 'DELETE', 'CONNECT', '')
  const entry = fc.oneof(
    fc.constantFrom('10.0.0.1', '10.0.0.0/24', 'fd00::/64', 'fd00::1-fd00::9', '10.0.0.9-10.0.0.1', '::', '-', '/'),
    fc.string(),
  )
  const spec = fc.record(
    {
      addresses: fc.oneof(fc.array(entry, { maxLength: 5 }), fc.jsonValue()),
      prefixes: fc.oneof(fc.array(entry, { maxLength: 5 }), fc.jsonValue()),
      prefix: fc.oneof(fc.integer(), fc.jsonValue()),
      allocationPrefixLength: fc.oneof(fc.integer({ min: -1, max: 130 }), fc.jsonValue()),
      gateway: fc.oneof(entry, fc.jsonValue()),
      excludedAddresses: fc.oneof(fc.array(entry, { maxLength: 3 }), fc.jsonValue()),
      preAllocations: fc.oneof(fc.dictionary(fc.string(), entry), fc.jsonValue()),
      draining: fc.jsonValue(),
      quota: fc.jsonValue(),
      space: fc.jsonValue(),
      allowedNamespaces: fc.jsonValue(),
      address: fc.oneof(entry, fc.jsonValue()),
      poolRef: fc.jsonValue(),
      claimRef: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )

  test('is answered with its uid, and with yes only where it was understood', () => {
    const webhook = fc.constantFrom(...webhooks)
    const uid = fc.string()
    fc.assert(
      fc.property(webhook, uid, operations, spec, spec, fc.jsonValue(), (hook, uid, operation, next, old, metadata) => {
        errors.length = 0
        const { group, version, kind } = hook.kind
        const object = (spec: object) => ({ apiVersion: `${group}/${version}`, kind, metadata, spec })
        const request = { uid, operation, object: object(next), oldObject: object(old) }
        const answer = ask(review(request), hook, () => ({ ...facts, ...held('10.0.0.1', 'fd00::/64') }))
        expect(answer.response.uid).toBe(uid)
        expect(errors).toEqual([])
        if (!answer.response.allowed) expect(answer.response.status?.message).not.toBe('')
      }),
      { numRuns: 1000 },
    )
  })

  test('is answered although it is no review at all', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map(request => JSON.stringify({ request })),
        ),
        body => {
          const { response } = ask(body)
          expect(response.allowed).toBe(false)
          expect(typeof response.uid).toBe('string')
        },
      ),
      { numRuns: 500 },
    )
  })

  test('is answered although it is nested without end', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const body = `{"kind":"AdmissionReview","request":{"uid":"u-1","operation":"CREATE","object":${deep}}}`
    expect(ask(body).response.allowed).toBe(false)
  })
})

describe('a ConversionReview', () => {
  const convert = (request: object | string) => {
    const body = typeof request === 'string' ? request : JSON.stringify({ kind: 'ConversionReview', request })
    return answerConversionReview(body, error => errors.push(error))
  }
  const old = {
    apiVersion: 'ipam.cluster.x-k8s.io/v1alpha1',
    kind: 'InClusterIPPool',
    metadata: { name: 'vms', uid: 'p-1' },
    spec: { subnet: '1.1.1.0/28', start: '1.1.1.1', end: '1.1.1.10' },
  }
  const v1alpha2 = 'ipam.cluster.x-k8s.io/v1alpha2'

  test('brings an old pool up, in its place among the others', () => {
    const next = pool()
    const { response } = JSON.parse(convert({ uid: 'c-1', desiredAPIVersion: v1alpha2, objects: [next, old] }))
    expect(response).toMatchObject({ uid: 'c-1', result: { status: 'Success' } })
    expect(response.convertedObjects[0]).toEqual(next)
    expect(response.convertedObjects[1]).toMatchObject({
      apiVersion: v1alpha2,
      metadata: { name: 'vms', uid: 'p-1' },
      spec: { addresses: ['1.1.1.1-1.1.1.10'], prefix: 28 },
    })
  })

  test.each<[string, object, object]>([
    ['addresses alone', { addresses: ['1.1.1.7'], prefix: 24 }, { addresses: ['1.1.1.7'], prefix: 24 }],
    [
      'a subnet with bounds',
      { subnet: '1.1.1.0/28', start: '1.1.1.1', end: '1.1.1.10' },
      { addresses: ['1.1.1.1-1.1.1.10'], prefix: 28 },
    ],
    ['a subnet alone', { subnet: '1.1.1.0/24' }, { addresses: ['1.1.1.1-1.1.1.254'], prefix: 24 }],
    [
      'a gateway',
      { addresses: ['1.1.1.7'], prefix: 24, gateway: '1.1.1.1' },
      { addresses: ['1.1.1.7'], prefix: 24, gateway: '1.1.1.1' },
    ],
  ])('says %s in the words of the newer version', (_, spec, converted) => {
    const { response } = JSON.parse(convert({ desiredAPIVersion: v1alpha2, objects: [{ ...old, spec }] }))
    expect(response.convertedObjects[0].spec).toEqual(converted)
  })

  test('there and back says what was said', () => {
    const up = JSON.parse(convert({ desiredAPIVersion: v1alpha2, objects: [old] })).response.convertedObjects
    const down = JSON.parse(convert({ desiredAPIVersion: old.apiVersion, objects: up })).response.convertedObjects
    expect(down).toEqual([old])
  })

  test('keeps counts exact that a JavaScript number cannot hold', () => {
    const body =
      `{"kind":"ConversionReview","request":{"uid":"c-1","desiredAPIVersion":"${v1alpha2}","objects":[` +
      `{"apiVersion":"ipam.cluster.x-k8s.io/v1alpha1","kind":"GlobalInClusterIPPool","metadata":{"name":"vms"},` +
      `"spec":{"addresses":["fd00::/64"]},"status":{"ipAddresses":{"total":9223372036854775807}}}]}}`
    expect(convert(body)).toContain('"total":9223372036854775807')
  })

  test.each<[string, object]>([
    ['an unknown version', { desiredAPIVersion: 'ipam.cluster.x-k8s.io/v9', objects: [old] }],
    ['an unknown kind', { desiredAPIVersion: v1alpha2, objects: [{ ...old, kind: 'Secret' }] }],
    ['a subnet that is none', { desiredAPIVersion: v1alpha2, objects: [{ ...old, spec: { subnet: 'x' } }] }],
    ['something that is no object', { desiredAPIVersion: v1alpha2, objects: [7] }],
    ['nothing', {}],
  ])('fails as a whole for %s', (_, request) => {
    const { response } = JSON.parse(convert({ uid: 'c-1', ...request }))
    expect(response).toMatchObject({ uid: 'c-1', convertedObjects: [], result: { status: 'Failure' } })
    expect(response.result.message).not.toBe('')
  })

  test('of anything is answered', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), body => {
        expect(JSON.parse(convert(body)).response.result.status).toBe('Failure')
      }),
    )
  })
})
