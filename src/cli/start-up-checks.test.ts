import { describe, expect, test } from 'vitest'
import { settle, VirtualClock } from '../../test/harness/virtual-clock.ts'
import type { PolicyRule } from '../apiserver/authz/rule.ts'
import { holds, pools } from '../controllers/office/kinds.ts'
import { ApiError } from '../kube/api-error.ts'
import type { Client } from '../kube/client.ts'
import { defineKind, type Kind, type KubeObject } from '../kube/object.ts'
import { createLog } from '../telemetry/log.ts'
import type { SinglePermission } from './permissions.ts'
import { StartUpChecks } from './start-up-checks.ts'

const patch: SinglePermission = {
  of: 'office',
  verb: 'patch',
  group: 'mooring.dev',
  resource: 'holds',
  namespace: '',
  without: 'nothing is held',
  isNeeded: true,
}
const event: SinglePermission = {
  ...patch,
  verb: 'create',
  resource: 'events',
  without: 'nothing is told',
  isNeeded: false,
}

const widget: SinglePermission = {
  ...patch,
  of: 'toy',
  verb: 'get',
  group: 'example.org',
  resource: 'widgets',
  without: 'no widget is seen',
}

const ofExample = (plural: string, kind: string) =>
  defineKind<KubeObject>({ group: 'example.org', versions: ['v1'], plural, kind, namespaced: true })
const buoys = ofExample('buoys', 'Buoy')
const rafts = ofExample('rafts', 'Raft')

function aCluster() {
  const clock = new VirtualClock()
  const allowed = new Set(['patch holds', 'create events', 'get widgets'])
  const served = new Map<string, string[]>([
    ['holds', ['v1alpha1']],
    ['buoys', ['v1']],
    ['rafts', ['v1']],
  ])
  const cluster = {
    isAway: false,
    failsFor: '',
    failsToFind: '',
    deniesOnce: '',
    questions: 0,
    looks: 0,
    rules: [] as PolicyRule[],
  }
  const lines: { level: string; msg: string; [field: string]: unknown }[] = []
  const log = createLog({ write: line => lines.push(JSON.parse(line)), now: () => clock.now() })
  const create = async (kind: Kind, object: object) => {
    if (kind.plural === 'selfsubjectrulesreviews') return { ...object, status: { resourceRules: cluster.rules } }
    cluster.questions++
    const { resourceAttributes } = (object as { spec: { resourceAttributes: SinglePermission } }).spec
    const asked = `${resourceAttributes.verb} ${resourceAttributes.resource}`
    if (cluster.isAway || cluster.failsFor === asked)
      throw new ApiError('no answer', { reason: 'Unreachable', code: 0 })
    if (cluster.deniesOnce === asked) {
      cluster.deniesOnce = ''
      return { ...object, status: { allowed: false } }
    }
    return { ...object, status: { allowed: allowed.has(asked) } }
  }
  const [pool] = pools
  const checks = new StartUpChecks({
    client: { create } as unknown as Pick<Client, 'create'>,
    discovery: {
      look: () => {
        cluster.looks++
        return async kind => {
          if (cluster.isAway || cluster.failsToFind === kind.plural)
            throw new ApiError('no answer', { reason: 'Unavailable', code: 503 })
          return served.get(kind.plural) ?? []
        }
      },
    },
    clock,
    log,
    kinds: [
      { of: 'office', kind: holds, isNeeded: true, comesWith: 'us' },
      ...(pool === undefined ? [] : [{ of: 'office', kind: pool, isNeeded: false, comesWith: 'us' }]),
      { of: 'toy', kind: buoys, isNeeded: true, comesWith: 'the harbour' },
      { of: 'other', kind: rafts, isNeeded: true, comesWith: 'the river', definition: 'crd/rafts.yaml' },
    ],
    permissions: [patch, event, widget],
  })
  const stop = new AbortController()
  // The story first says what is missing.
  const running = Promise.resolve().then(() => checks.run(stop.signal))
  return { clock, allowed, served, cluster, lines, checks, stop, running }
}

const faultsOf = (checks: StartUpChecks, part: string) =>
  checks
    .admissionOf(part)
    .missing()
    ?.filter(({ isFault }) => isFault)
    .map(({ reason }) => reason)

const levels = (lines: readonly { level: string; msg: string }[]) => lines.map(({ level, msg }) => `${level}: ${msg}`)

describe('checks at the start', () => {
  test('say what can come later, and pass without it', async () => {
    const { checks, lines, served, clock } = aCluster()
    expect(checks.reasons('office')).toEqual(['it was not checked yet what is there in the cluster'])
    await settle()
    expect(checks.reasons('office')).toEqual([])
    expect(levels(lines)).toEqual([
      'info: a kind is missing',
      'info: every kind and permission that is needed is there',
    ])
    served.set('addresspools', ['v1alpha1'])
    await clock.advance(10_000)
    expect(levels(lines).at(-1)).toBe('info: a missing kind or permission is now available')
  })

  test('do not pass without what is needed, ask for it alone, and pass when it is there', async () => {
    const { checks, lines, served, allowed, cluster, clock } = aCluster()
    served.set('holds', ['v2'])
    allowed.delete('patch holds')
    await settle()
    expect(checks.reasons('office')).toEqual([
      'holds.mooring.dev is served as v2 only: it comes with us',
      'may not patch holds.mooring.dev: without it, nothing is held',
    ])
    let hasPassed = false
    void checks.passed('office', new AbortController().signal).then(() => {
      hasPassed = true
    })
    const before = cluster.questions
    await clock.advance(20_000)
    // One permission is missing, and nothing was said twice.
    expect(cluster.questions - before).toBe(10)
    expect(levels(lines)).toEqual([
      'error: a kind is missing',
      'info: a kind is missing',
      'error: a permission is missing',
    ])
    expect(hasPassed).toBe(false)
    served.set('holds', ['v1alpha1'])
    allowed.add('patch holds')
    await clock.advance(5_000)
    expect(hasPassed).toBe(true)
  })

  test('name the command that installs a kind of which we have a definition, unless another version of it is there', async () => {
    const { checks, served, clock } = aCluster()
    served.delete('rafts')
    await settle()
    const missing = 'rafts.example.org is not installed: it comes with the river'
    const command = 'mooring definitions other | kubectl create -f -'
    expect(checks.reasons('other')).toEqual([`${missing}; elsewhere, install it: ${command}`])
    served.set('rafts', ['v0'])
    await clock.advance(10_000)
    expect(checks.reasons('other')).toEqual(['rafts.example.org is served as v0 only: it comes with the river'])
  })

  test('a permission that is not needed is logged as an error, and does not hold anything up', async () => {
    const { checks, lines, allowed } = aCluster()
    allowed.delete('create events')
    await settle()
    expect(checks.reasons('office')).toEqual([])
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'error', verb: 'create', without: 'nothing is told' }),
    )
    expect(checks.notes(['office', 'toy'])).toEqual([
      'office may not create events.mooring.dev: without it, nothing is told',
    ])
  })

  test('note a permission of a desk that is off, and none that a desk waits for', async () => {
    const { checks, allowed } = aCluster()
    allowed.delete('get widgets')
    await settle()
    expect(checks.notes(['office', 'toy'])).toEqual([])
    expect(checks.notes(['office'])).toEqual(['toy may not get widgets.example.org: without it, no widget is seen'])
  })

  test('hold up one part of the controller, and no other', async () => {
    const { checks, allowed, lines } = aCluster()
    allowed.delete('get widgets')
    await settle()
    expect(checks.reasons('office')).toEqual([])
    expect(checks.reasons('toy')).toEqual(['may not get widgets.example.org: without it, no widget is seen'])
    await checks.passed('office', new AbortController().signal)
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', desk: 'toy', verb: 'get' }))
  })

  test('a kind of a desk that is not installed is no error: the product that brings it may come later', async () => {
    const { checks, lines, served, clock } = aCluster()
    served.delete('buoys')
    await settle()
    expect(checks.reasons('toy')).toEqual(['buoys.example.org is not installed: it comes with the harbour'])
    expect(faultsOf(checks, 'toy')).toEqual([])
    expect(lines.filter(({ level }) => level === 'error')).toEqual([])
    served.set('buoys', ['v2'])
    await clock.advance(5_000)
    expect(faultsOf(checks, 'toy')).toEqual(['buoys.example.org is served as v2 only: it comes with the harbour'])
  })

  test('a kind of the office that is not installed is one: it comes with Mooring itself', async () => {
    const { checks, lines, served } = aCluster()
    served.delete('holds')
    await settle()
    expect(faultsOf(checks, 'office')).toEqual(['holds.mooring.dev is not installed: it comes with us'])
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', kind: 'holds.mooring.dev' }))
  })

  test.each([
    ['one desk can work, whatever the other lacks', { kinds: [], permission: 'get widgets' }, true],
    ['no kind of any desk is installed', { kinds: ['buoys', 'rafts'], permission: '' }, true],
    [
      'one desk has a fault, and the kinds of the other are not installed',
      { kinds: ['rafts'], permission: 'get widgets' },
      false,
    ],
  ])('a process in which %s: does it stand for election?', async (_, { kinds, permission }, isStanding) => {
    const { checks, served, allowed } = aCluster()
    for (const plural of kinds) served.delete(plural)
    allowed.delete(permission)
    await settle()
    let stands = false
    void checks.oneOrNoFault(['toy', 'other'], new AbortController().signal).then(() => {
      stands = true
    })
    await settle()
    expect(stands).toBe(isStanding)
  })

  test('wait for a server that is away, and forget nothing when it goes away later', async () => {
    const { checks, cluster, lines, served, clock } = aCluster()
    served.set('addresspools', ['v1alpha1'])
    cluster.isAway = true
    await settle()
    expect(checks.reasons('office')).toEqual(['the API server does not say what is there: no answer'])
    cluster.isAway = false
    await clock.advance(5_000)
    expect(checks.reasons('office')).toEqual([])
    cluster.isAway = true
    await clock.advance(3_600_000)
    expect(checks.reasons('office')).toEqual([])
    expect(levels(lines)).toContain('error: the API server does not say what is there')
  })

  test('ask again only what was not answered, when the server goes away between two questions', async () => {
    const { checks, cluster, served, clock } = aCluster()
    served.set('addresspools', ['v1alpha1'])
    cluster.failsFor = 'patch holds'
    await settle()
    expect(checks.reasons('office')).toEqual(['the API server does not say what is there: no answer'])
    cluster.failsFor = ''
    const before = cluster.questions
    await clock.advance(5_000)
    expect([checks.reasons('office'), cluster.questions - before]).toEqual([[], 1])
  })

  test.each([
    ['which versions of a kind there are', { failsToFind: 'rafts' }, 'other'],
    ['whether a permission is there', { failsFor: 'get widgets' }, 'toy'],
  ])('hold up only the part that needs to know, while the server never says %s', async (_, failing, part) => {
    const { checks, cluster, lines, clock } = aCluster()
    Object.assign(cluster, failing)
    await clock.advance(600_000)
    expect(checks.reasons(part)).toEqual(['the API server does not say what is there: no answer'])
    for (const other of ['office', 'toy', 'other']) if (other !== part) expect(checks.reasons(other)).toEqual([])
    const said = lines.filter(({ msg }) => msg === 'the API server does not say what is there')
    expect(said).toEqual([expect.objectContaining({ level: 'error', desk: part })])
    Object.assign(cluster, { failsToFind: '', failsFor: '' })
    await clock.advance(30_000)
    expect(checks.reasons(part)).toEqual([])
  })

  test('hold up nothing, and say so, while the server never says whether a permission is there that no part needs', async () => {
    const { checks, cluster, lines } = aCluster()
    cluster.failsFor = 'create events'
    await settle()
    expect([checks.reasons('office'), checks.reasons('toy')]).toEqual([[], []])
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'info', msg: 'the API server does not say what is there', desk: 'office' }),
    )
  })

  test('take no permission for lost because the server says no once, however often', async () => {
    const { checks, cluster, lines, clock } = aCluster()
    await clock.advance(1_000)
    const told: number[] = []
    checks.admissionOf('office').onChange(() => told.push(checks.reasons('office').length))
    for (let round = 0; round < 3; round++) {
      cluster.deniesOnce = 'patch holds'
      await clock.advance(60_000)
      expect(cluster.deniesOnce).toBe('')
    }
    expect(told.length).toBeGreaterThan(3)
    expect(told.filter(count => count > 0)).toEqual([])
    expect(lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('look ever less often for what stays missing, and at once when a desk says that something came', async () => {
    const { checks, cluster, allowed, served, clock } = aCluster()
    served.set('addresspools', ['v1alpha1'])
    served.delete('rafts')
    allowed.delete('get widgets')
    const inAMinute = async () => {
      const before = cluster.looks
      for (let second = 0; second < 60; second++) await clock.advance(1_000)
      return cluster.looks - before
    }
    expect(await inAMinute()).toBeGreaterThanOrEqual(29)
    await inAMinute()
    expect([await inAMinute(), await inAMinute(), await inAMinute()]).toEqual([2, 2, 2])
    await clock.advance(5_000)
    served.set('rafts', ['v1'])
    checks.admissionOf('other').lookAgain?.()
    await clock.advance(1)
    expect(checks.reasons('other')).toEqual([])
    expect(checks.reasons('toy')).toHaveLength(1)
    // What comes is seldom alone.
    allowed.add('get widgets')
    await clock.advance(2_000)
    expect(checks.reasons('toy')).toEqual([])
  })

  test('leave time between two looks, however often a desk says that something came', async () => {
    const { checks, cluster, clock } = aCluster()
    await clock.advance(1_000)
    const before = cluster.looks
    for (let tenth = 0; tenth < 600; tenth++) {
      checks.admissionOf('toy').lookAgain?.()
      await clock.advance(100)
    }
    expect(cluster.looks - before).toBeLessThanOrEqual(30)
  })

  test('notice a permission that is taken away later, also while a kind of another desk is missing, and that it is back', async () => {
    const { checks, lines, allowed, served, clock } = aCluster()
    served.delete('rafts')
    await settle()
    const toy = checks.admissionOf('toy')
    const told: (readonly string[] | undefined)[] = []
    toy.onChange(() => told.push(toy.missing()?.map(({ reason }) => reason)))
    expect(toy.missing()).toEqual([])
    allowed.delete('get widgets')
    await clock.advance(32_000)
    expect(told.at(-1)).toEqual(['may not get widgets.example.org: without it, no widget is seen'])
    expect(checks.admissionOf('office').missing()).toEqual([])
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', desk: 'toy', verb: 'get' }))
    allowed.add('get widgets')
    await clock.advance(2_000)
    expect(told.at(-1)).toEqual([])
  })

  test('take no permission for lost because a server that said what is there does not answer any more', async () => {
    const { checks, cluster, served, clock } = aCluster()
    served.delete('rafts')
    await settle()
    cluster.isAway = true
    await clock.advance(600_000)
    expect([checks.reasons('office'), checks.reasons('toy')]).toEqual([[], []])
    expect(checks.reasons('other')).toHaveLength(1)
  })

  test('ask by itself only for what no rule allows everywhere', async () => {
    const { checks, cluster, allowed, served } = aCluster()
    served.set('addresspools', ['v1alpha1'])
    cluster.rules = [
      { verbs: ['*'], apiGroups: ['mooring.dev'], resources: ['holds'] },
      { verbs: ['get'], apiGroups: ['example.org'], resources: ['widgets'], resourceNames: ['mine'] },
    ]
    allowed.clear()
    await settle()
    expect([checks.reasons('office'), checks.reasons('toy'), cluster.questions]).toEqual([
      [],
      ['may not get widgets.example.org: without it, no widget is seen'],
      2,
    ])
  })

  test('end when they are stopped, and a caller that waits for them gets the reason', async () => {
    const { checks, stop, running, clock, served } = aCluster()
    served.delete('holds')
    await settle()
    const waiting = new AbortController()
    const passed = checks.passed('office', waiting.signal)
    waiting.abort(new Error('enough'))
    await expect(passed).rejects.toThrow('enough')
    stop.abort()
    await running
    expect(clock.timers).toBe(0)
  })
})
