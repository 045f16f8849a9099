import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { type AskOptions, admissionReview, ask, patchIn } from '../../test/harness/webhooks.ts'
import { forbidden, invalid } from './fault.ts'
import { allowed, patched, type Ruling, refused } from './ruling.ts'
import { mutatingWebhook, validatingWebhook, type Webhook, type WebhookRequest } from './webhook.ts'

interface BoatFacts {
  berthOf(boat: string): string
}

const boatKind = { group: 'sea.example', version: 'v1', kind: 'Boat', plural: 'boats', isNamespaced: true }
const facts: BoatFacts = { berthOf: boat => `berth of ${boat}` }

const validating = (ruling: Ruling) => validatingWebhook<BoatFacts>(boatKind, () => ruling)

function askOf(webhook: Webhook<BoatFacts>, body: unknown = created(), options: Partial<AskOptions<BoatFacts>> = {}) {
  return ask(body, { webhook, facts: () => facts, ...options })
}

const boat = (spec: object = {}, kind = 'Boat', apiVersion = 'sea.example/v1') => ({
  apiVersion,
  kind,
  metadata: { name: 'ada', namespace: 'harbour' },
  spec,
})

const created = (object: object = boat()) => admissionReview({ operation: 'CREATE', object })

/** What the webhook was asked with. */
async function askedWith(body: unknown): Promise<WebhookRequest | undefined> {
  let asked: WebhookRequest | undefined
  const webhook = validatingWebhook<BoatFacts>(boatKind, request => {
    asked = request
    return allowed()
  })
  await askOf(webhook, body)
  return asked
}

describe('an AdmissionReview', () => {
  test('that is allowed is answered with yes and its uid', async () => {
    expect(await askOf(validating(allowed()))).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: 'u-1', allowed: true },
    })
  })

  test('that is allowed with warnings is answered with them, a screenful at most', async () => {
    const { response } = await askOf(validating(allowed(['it leaks'])))
    expect(response).toEqual({ uid: 'u-1', allowed: true, warnings: ['it leaks'] })
    const many = await askOf(validating(allowed(Array.from({ length: 100 }, (_, i) => `leak ${i}`))))
    expect(many.response.warnings).toHaveLength(20)
  })

  test('of a wrong object is answered with no, every fault, and the code of an invalid object', async () => {
    const faults = [invalid('spec.sails', 'x', 'must be a number'), forbidden('spec.crew', 'it is full')]
    const { response } = await askOf(validating({ kind: 'invalid', faults, warnings: ['it leaks'] }))
    expect(response).toMatchObject({
      uid: 'u-1',
      allowed: false,
      status: { code: 422, reason: 'Invalid', details: { name: 'ada', group: 'sea.example', kind: 'Boat' } },
      warnings: ['it leaks'],
    })
    expect(response.status?.message).toBe(
      'Boat.sea.example "ada" is invalid: [' +
        'spec.sails: Invalid value: "x": must be a number, spec.crew: Forbidden: it is full]',
    )
  })

  test('of a change that does not fit is answered with no and a sentence', async () => {
    const { response } = await askOf(validating(refused('it is at sea')))
    expect(response).toMatchObject({ allowed: false, status: { code: 400, message: 'it is at sea' } })
  })

  test('gives the webhook the request, its user and whether it is a dry run', async () => {
    const userInfo = { username: 'jo', groups: ['crew', 7], extra: {} }
    const request = { operation: 'UPDATE', namespace: 'harbour', name: 'ada', userInfo, dryRun: true }
    const [old, next] = [boat({ sails: 1 }), boat({ sails: 2 })]
    expect(await askedWith(admissionReview({ ...request, object: next, oldObject: old }))).toEqual({
      operation: 'UPDATE',
      old,
      next,
      namespace: 'harbour',
      name: 'ada',
      userInfo: { username: 'jo', groups: ['crew'] },
      isDryRun: true,
      isCallerProven: false,
    })
  })

  test('of a deletion has no next object, one of a creation no old one', async () => {
    const deletion = admissionReview({ operation: 'DELETE', object: null, oldObject: boat() })
    expect(await askedWith(deletion)).toMatchObject({ old: boat(), next: undefined, name: 'ada', isDryRun: false })
    expect(await askedWith(created())).toMatchObject({ old: undefined, next: boat(), namespace: 'harbour' })
  })

  test('in the older version is answered in the older version', async () => {
    const body = admissionReview({ operation: 'CREATE', object: boat() }, 'admission.k8s.io/v1beta1')
    expect((await askOf(validating(allowed()), body)).apiVersion).toBe('admission.k8s.io/v1beta1')
  })

  test('of a status is allowed by a webhook that is not about it, and answered by one that is', async () => {
    const body = admissionReview({ operation: 'UPDATE', subResource: 'status', object: boat(), oldObject: boat() })
    const webhook = validating(refused('no'))
    expect((await askOf(webhook, body)).response.allowed).toBe(true)
    expect((await askOf({ ...webhook, subresources: ['scale'] }, body)).response.allowed).toBe(true)
    expect((await askOf({ ...webhook, subresources: ['status'] }, body)).response.allowed).toBe(false)
  })

  test.each<[string, object]>([
    ['another kind', boat({}, 'Secret')],
    ['another version', boat({}, 'Boat', 'sea.example/v2')],
    ['another group', boat({}, 'Boat', 'land.example/v1')],
  ])('of %s is answered with no', async (_, object) => {
    const { response } = await askOf(validating(allowed()), created(object))
    expect(response).toMatchObject({ allowed: false, status: { code: 400 } })
  })

  test('of another version is answered where all versions are asked about', async () => {
    const webhook: Webhook<BoatFacts> = { ...validating(allowed()), versions: 'all' }
    expect((await askOf(webhook, created(boat({}, 'Boat', 'sea.example/v2')))).response.allowed).toBe(true)
    expect((await askOf(webhook, created(boat({}, 'Boat', 'land.example/v1')))).response.allowed).toBe(false)
  })
})

describe('a mutating webhook', () => {
  test('answers a JSON patch made from facts, later', async () => {
    const webhook = mutatingWebhook<BoatFacts>(boatKind, async ({ name }, { berthOf }) => {
      await new Promise(resolve => setImmediate(resolve))
      const value = berthOf(name)
      return patched([{ op: 'add', path: '/metadata/annotations', value: { berth: value } }], ['it has a berth now'])
    })
    const clock = new VirtualClock()
    const answer = await askOf(webhook, created(), { clock })
    expect(answer.response).toMatchObject({ allowed: true, patchType: 'JSONPatch', warnings: ['it has a berth now'] })
    expect(patchIn(answer)).toEqual([{ op: 'add', path: '/metadata/annotations', value: { berth: 'berth of ada' } }])
    // Its time is not waited for any more.
    expect(clock.timers).toBe(0)
  })

  test('that changes nothing answers no patch', async () => {
    const { response } = await askOf(mutatingWebhook<BoatFacts>(boatKind, () => patched([])))
    expect(response).toEqual({ uid: 'u-1', allowed: true })
  })

  test('may refuse as any other', async () => {
    const { response } = await askOf(mutatingWebhook<BoatFacts>(boatKind, async () => refused('no berth is free')))
    expect(response).toMatchObject({ allowed: false, status: { message: 'no berth is free' } })
  })
})

describe('a webhook without an answer', () => {
  const never = new Promise<Ruling>(() => {})
  const broken = () => {
    throw new Error('broken')
  }
  const policies = ['Fail', 'Ignore'] as const

  interface Outcome {
    readonly response: object
    readonly errors: readonly unknown[]
  }

  async function outcome(
    answer: Webhook<BoatFacts>['answer'],
    failurePolicy: 'Fail' | 'Ignore',
    known: () => BoatFacts | undefined = () => facts,
  ): Promise<Outcome> {
    const errors: unknown[] = []
    const clock = new VirtualClock()
    const webhook = { ...validatingWebhook<BoatFacts>(boatKind, answer), failurePolicy, timeoutSeconds: 2 }
    const answered = askOf(webhook, created(), { facts: known, clock, onError: error => errors.push(error) })
    await clock.advance(1_600)
    const { response } = await answered
    expect(clock.timers).toBe(0)
    return { response, errors }
  }

  test.each<[string, Webhook<BoatFacts>['answer']]>([
    ['throws', broken],
    ['throws later', async () => broken()],
    ['patches although it only validates', () => patched([{ op: 'remove', path: '/spec' }])],
  ])('that %s is written down, and a no under Fail, a yes under Ignore', async (_, answer) => {
    const [fail, ignore] = await Promise.all(policies.map(policy => outcome(answer, policy)))
    expect(fail?.response).toMatchObject({ uid: 'u-1', allowed: false, status: { code: 500, reason: 'InternalError' } })
    expect(ignore?.response).toEqual({ uid: 'u-1', allowed: true })
    for (const { errors } of [fail, ignore] as Outcome[]) expect(errors).toHaveLength(1)
  })

  test('because its facts cannot be read is logged, and a no under Fail, a yes under Ignore', async () => {
    const [fail, ignore] = await Promise.all(policies.map(policy => outcome(() => allowed(), policy, broken)))
    expect(fail).toMatchObject({ response: { allowed: false, status: { code: 500 } }, errors: [new Error('broken')] })
    expect(ignore).toMatchObject({ response: { allowed: true }, errors: [new Error('broken')] })
  })

  test('that takes too long is a no under Fail, a yes under Ignore, before the API server gives up', async () => {
    const [fail, ignore] = await Promise.all(policies.map(policy => outcome(() => never, policy)))
    expect(fail?.response).toMatchObject({ allowed: false, status: { code: 504, reason: 'Timeout' } })
    expect(ignore?.response).toEqual({ uid: 'u-1', allowed: true })
  })

  test('that fails after it took too long is still logged', async () => {
    const errors: unknown[] = []
    const clock = new VirtualClock()
    let failNow = () => {}
    const late = new Promise<Ruling>((_, reject) => {
      failNow = () => reject(new Error('sunk'))
    })
    const webhook = validatingWebhook<BoatFacts>(boatKind, () => late)
    const answered = askOf(webhook, created(), { clock, onError: error => errors.push(error) })
    await clock.advance(10_000)
    expect((await answered).response.allowed).toBe(false)
    failNow()
    await late.catch(() => {})
    expect(errors).toEqual([new Error('sunk')])
  })

  test('because the caches are not filled is a no that asks to try again under Fail, a yes under Ignore', async () => {
    const unknown = () => undefined
    const [fail, ignore] = await Promise.all(policies.map(policy => outcome(() => refused('no'), policy, unknown)))
    expect(fail?.response).toMatchObject({ allowed: false, status: { code: 503 } })
    expect(ignore?.response).toEqual({ uid: 'u-1', allowed: true })
  })
})

describe('whatever arrives', () => {
  test('is answered although it is no AdmissionReview at all', async () => {
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      fc.jsonValue().map(request => JSON.stringify({ request })),
    )
    await fc.assert(
      fc.asyncProperty(body, async body => {
        const { response } = await askOf(validating(allowed()), body)
        expect(response.allowed).toBe(false)
        expect(typeof response.uid).toBe('string')
      }),
      { numRuns: 500 },
    )
  })

  test('is refused without what another terminal would obey, and without all of a thousand faults', async () => {
    const faults = Array.from({ length: 1_000 }, (_, i) => invalid(`spec.berths[${i}]`, '\u202e', 'no \u0007 berth'))
    const warnings = ['mind \u2066']
    const { response } = await askOf(validating({ kind: 'invalid', faults, warnings }))
    expect(response.status?.message).toContain('spec.berths[0]: Invalid value: "\\u202e": no \\u0007 berth')
    expect(response.status?.message).toMatch(/, and 980 more\]$/)
    expect(response.status).toHaveProperty('details.causes.length', 20)
    expect(response.warnings).toEqual(['mind \\u2066'])
    expect((await askOf(validating(refused('\u202e')))).response.status?.message).toBe('\\u202e')
  })

  test('is answered although it is nested without end', async () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const body = `{"kind":"AdmissionReview","request":{"uid":"u-1","operation":"CREATE","object":${deep}}}`
    expect((await askOf(validating(allowed()), body)).response.allowed).toBe(false)
  })
})
