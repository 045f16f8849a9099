import { expect, test } from 'vitest'
import { seededRandom } from '../../test/harness/seeded-random.ts'
import { settle, VirtualClock } from '../../test/harness/virtual-clock.ts'
import { createLog } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { Admission, Domain, DomainOptions, Feed, Missing, Necessity } from './domain.ts'
import { Manager, type ManagerOptions } from './manager.ts'
import { defineReconciler, done } from './reconciler.ts'
import { Cancelled } from './retry-policy.ts'

function aManager(options: Partial<ManagerOptions> = {}) {
  const clock = new VirtualClock()
  const metrics = createMetrics()
  const lines: { level: string; msg: string; desk: string }[] = []
  const log = createLog({ write: line => lines.push(JSON.parse(line)), now: () => clock.now() })
  const manager = new Manager({ clock, random: seededRandom(1), log, metrics, ...options })
  return { clock, manager, metrics, logged: () => lines.map(({ level, msg, desk }) => `${level} ${msg}: ${desk}`) }
}

function aFeed(name: string, journal: string[] = []) {
  let sync = () => {}
  let problem: string | undefined
  let isInstalled = true
  const changed: (() => void)[] = []
  const synced = new Promise<void>(resolve => {
    sync = resolve
  })
  const feed: Feed = {
    name,
    start: () => void journal.push(`${name} starts`),
    synced: signal =>
      Promise.race([
        synced,
        new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ]),
    problem: () => problem,
    get isInstalled() {
      return isInstalled
    },
    onProblemChange: call => void changed.push(call),
    stop: async reason => void journal.push(`${name} stops: ${reason}`),
  }
  return {
    feed,
    sync,
    /** From now on, until it is set again, it has a problem. */
    suffer(from: string | undefined, { isAbsent = false } = {}) {
      problem = from
      isInstalled = !isAbsent
      for (const call of changed) call()
    },
  }
}

/** A domain with a reconciler that has a key to look at. */
function aDomain(manager: Manager, name: string, options?: DomainOptions) {
  const domain = manager.domain(name, options)
  const passes: string[] = []
  const told: string[] = []
  const reconciler = domain.addReconciler(
    defineReconciler({
      name: `${name}.pass`,
      onStart: () => told.push('start'),
      onPause: () => told.push('pause'),
      async reconcile(key) {
        passes.push(key)
        return done()
      },
    }),
  )
  reconciler.mark('first')
  return { domain, reconciler, passes, told }
}

const isStarted = async (manager: Manager) => {
  await settle()
  return manager.state === 'running'
}

test('passes begin when every feed is synced, and end before the feeds do', async () => {
  const journal: string[] = []
  const { clock, manager } = aManager()
  const domain = manager.domain('capi')
  const [pools, claims] = [aFeed('pools', journal), aFeed('claims', journal)]
  for (const { feed } of [pools, claims, pools]) domain.addFeed(feed)
  const binding = domain.addReconciler(
    defineReconciler({
      name: 'claim.binding',
      reconcile: (key, { signal }) => {
        journal.push(`pass over ${key}`)
        return new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            journal.push(`pass ends: ${(signal.reason as Cancelled).reason}`)
            reject(signal.reason)
          }),
        )
      },
    }),
  )
  binding.mark('a')
  const started = manager.start()
  pools.sync()
  await settle()
  expect(journal).toEqual(['pools starts', 'claims starts'])
  expect(domain.reasons()).toEqual(['claims is not listed yet'])
  claims.sync()
  await started
  await settle()
  await manager.stop('shutdown')
  expect(journal.slice(2)).toEqual([
    'pass over a',
    'pass ends: shutdown',
    'pools stops: shutdown',
    'claims stops: shutdown',
  ])
  expect([manager.state, domain.state]).toEqual(['stopped', 'stopped'])
  expect(clock.timers).toBe(0)
})

test('a domain whose feed never syncs holds up no other, and the start only until its reason is known', async () => {
  const { manager, logged } = aManager()
  const [vms, claims] = [aFeed('vms'), aFeed('claims')]
  const vm = aDomain(manager, 'vm')
  const capi = aDomain(manager, 'capi')
  vm.domain.addFeed(vms.feed)
  capi.domain.addFeed(claims.feed)
  void manager.start()
  claims.sync()
  expect(await isStarted(manager)).toBe(false)
  expect([capi.domain.state, capi.passes]).toEqual(['working', ['first']])
  expect([vm.domain.state, vm.domain.reasons()]).toEqual(['starting', ['vms is not listed yet']])
  vms.suffer('vms cannot be read: forbidden')
  expect(await isStarted(manager)).toBe(true)
  expect([vm.domain.state, vm.domain.reasons(), vm.passes]).toEqual(['waiting', ['vms cannot be read: forbidden'], []])
  expect(logged()).toEqual(['info the desk begins to work: capi', 'info the desk waits: vm'])
  vms.suffer(undefined)
  expect(vm.domain.state).toBe('starting')
  vms.sync()
  await settle()
  expect([vm.domain.state, vm.domain.reasons(), vm.passes]).toEqual(['working', [], ['first']])
  await manager.stop('shutdown')
})

test('a domain begins no pass while a feed it needs has a problem, and then goes on with every key', async () => {
  const { manager, logged, metrics } = aManager()
  const claims = aFeed('claims')
  const { domain, passes, reconciler, told } = aDomain(manager, 'capi')
  domain.addFeed(claims.feed)
  claims.sync()
  await manager.start()
  await settle()
  expect(told).toEqual(['start'])
  expect(metrics.text()).toContain('mooring_desk_state{desk="capi",state="working"} 1\n')
  claims.suffer('claims is not installed')
  claims.suffer('claims is not installed')
  reconciler.mark('second')
  reconciler.mark('third')
  await settle()
  expect([domain.state, passes, reconciler.depth]).toEqual(['waiting', ['first'], 2])
  expect(told).toEqual(['start', 'pause'])
  expect(metrics.text()).toContain('mooring_desk_state{desk="capi",state="waiting"} 1\n')
  claims.suffer(undefined)
  await settle()
  expect(told).toEqual(['start', 'pause', 'start'])
  expect([domain.state, passes]).toEqual(['working', ['first', 'second', 'third']])
  expect(logged()).toEqual([
    'info the desk begins to work: capi',
    'error the desk waits: capi',
    'info the desk goes on: capi',
  ])
  await manager.stop('shutdown')
})

test('a domain works only while those it needs work', async () => {
  const { manager } = aManager()
  const [holds, claims] = [aFeed('holds'), aFeed('claims')]
  const office = aDomain(manager, 'office')
  office.domain.addFeed(holds.feed)
  const capi = aDomain(manager, 'capi', { needs: [office.domain] })
  capi.domain.addFeed(claims.feed)
  const started = manager.start()
  claims.sync()
  await settle()
  expect([capi.domain.state, capi.domain.reasons()]).toEqual(['starting', ['office does not work']])
  holds.sync()
  await started
  await settle()
  expect([office.passes, capi.passes]).toEqual([['first'], ['first']])
  holds.suffer('holds cannot be read: no answer')
  capi.reconciler.mark('second')
  await settle()
  expect([office.domain.state, capi.domain.state, capi.passes]).toEqual(['waiting', 'waiting', ['first']])
  holds.suffer(undefined)
  await settle()
  expect(capi.passes).toEqual(['first', 'second'])
  await manager.stop('shutdown')
})

test.each<[Necessity, string[]]>([
  [true, ['starting', 'waiting', 'working', 'waiting']],
  ['where installed', ['starting', 'working', 'working', 'waiting']],
  [false, ['starting', 'working', 'working', 'working']],
])('a feed whose isNeeded is %s lets the domain work accordingly', async (isNeeded, states) => {
  const { manager } = aManager()
  const { domain } = aDomain(manager, 'capi')
  const clusters = aFeed('clusters')
  domain.addFeed(clusters.feed, { isNeeded })
  const seen: string[] = []
  const look = async () => {
    await settle()
    seen.push(domain.state)
  }
  void manager.start()
  await look()
  clusters.suffer('clusters is not installed', { isAbsent: true })
  await look()
  clusters.suffer(undefined)
  clusters.sync()
  await look()
  clusters.suffer('clusters cannot be read: no answer')
  await look()
  expect(seen).toEqual(states)
  await manager.stop('shutdown')
})

test('a feed that two domains read is started and stopped once', async () => {
  const journal: string[] = []
  const { manager } = aManager()
  const claims = aFeed('claims', journal)
  for (const name of ['office', 'capi']) manager.domain(name).addFeed(claims.feed)
  claims.sync()
  await manager.start()
  await manager.stop('shutdown')
  expect(journal).toEqual(['claims starts', 'claims stops: shutdown'])
})

function anAdmission() {
  let missing: readonly Missing[] | undefined
  let tell = () => {}
  const admission: Admission = {
    missing: () => missing,
    onChange: changed => {
      tell = changed
    },
  }
  /** From now on, until it is told again, these are missing. */
  const lacks = (...now: Missing[]) => {
    missing = now
    tell()
  }
  return { admission, lacks }
}

test('a domain waits for its own admission, and says what for', async () => {
  const { manager } = aManager()
  const { admission, lacks } = anAdmission()
  const vm = aDomain(manager, 'vm', { admission })
  void manager.start()
  expect(await isStarted(manager)).toBe(false)
  lacks({ reason: 'may not list virtualmachines', isFault: true })
  expect(await isStarted(manager)).toBe(true)
  expect([vm.domain.state, vm.domain.reasons(), vm.passes]).toEqual(['waiting', ['may not list virtualmachines'], []])
  lacks()
  await settle()
  expect([vm.domain.state, vm.passes]).toEqual(['working', ['first']])
  await manager.stop('shutdown')
})

test('a domain that loses a permission later waits until it is back, and the others go on', async () => {
  const { manager, metrics, logged } = aManager()
  const { admission, lacks } = anAdmission()
  const office = manager.domain('office')
  const vm = aDomain(manager, 'vm', { needs: [office], admission })
  const capi = aDomain(manager, 'capi', { needs: [office] })
  lacks()
  await manager.start()
  await settle()
  lacks({ reason: 'may not patch ipamclaims/status', isFault: true })
  vm.reconciler.mark('late')
  capi.reconciler.mark('late')
  await settle()
  expect([vm.domain.state, vm.domain.faults()]).toEqual(['waiting', ['may not patch ipamclaims/status']])
  expect([vm.passes, capi.passes]).toEqual([['first'], ['first', 'late']])
  expect(metrics.text()).toContain('mooring_desk_state{desk="vm",state="waiting"} 1\n')
  expect(logged().at(-1)).toBe('error the desk waits: vm')
  lacks()
  await settle()
  expect(vm.passes).toEqual(['first', 'late'])
  expect(logged().at(-1)).toBe('info the desk goes on: vm')
  await manager.stop('shutdown')
})

test('no domain works before the manager is admitted, and none lacks anything because of that', async () => {
  let admit = () => {}
  const { manager } = aManager({
    admitted: () =>
      new Promise(resolve => {
        admit = resolve
      }),
  })
  const { domain, passes } = aDomain(manager, 'capi')
  const started = manager.start()
  expect(await isStarted(manager)).toBe(false)
  expect([domain.state, domain.reasons(), passes]).toEqual(['starting', [], []])
  admit()
  await started
  await settle()
  expect([manager.state, domain.state, passes]).toEqual(['running', 'working', ['first']])
  await manager.stop('shutdown')
})

test('a manager that is stopped while it waits for its feeds says so', async () => {
  const { manager } = aManager()
  manager.domain('capi').addFeed(aFeed('pools').feed)
  const started = manager.start()
  const refused = expect(started).rejects.toThrow(new Cancelled('lost-lease').message)
  await manager.stop('lost-lease')
  await refused
})

test('a domain that waits is stopped like any other, and stays stopped when its problem is over', async () => {
  const { manager, clock } = aManager()
  const claims = aFeed('claims')
  const { domain, passes } = aDomain(manager, 'capi')
  domain.addFeed(claims.feed)
  claims.suffer('claims is not installed')
  await manager.start()
  await manager.stop('shutdown')
  claims.suffer(undefined)
  claims.sync()
  await settle()
  expect([domain.state, passes, clock.timers]).toEqual(['stopped', [], 0])
})

test('a pass that does not listen is waited for only so long', async () => {
  const { manager, clock } = aManager({ stopMsMax: 5_000 })
  const domain = manager.domain('capi')
  const deaf = domain.addReconciler(defineReconciler({ name: 'deaf', reconcile: () => new Promise(() => {}) }))
  deaf.mark('a')
  await manager.start()
  await settle()
  const stopped = manager.stop('shutdown')
  await clock.advance(4_999)
  expect([manager.state, domain.state]).toEqual(['stopping', 'stopping'])
  await clock.advance(1)
  await stopped
  expect(manager.state).toBe('stopped')
})

test('a task that ends by itself is reported to onTaskEnd', async () => {
  const ended: string[] = []
  const { manager } = aManager({ onTaskEnd: (task, error) => ended.push(`${task}: ${String(error)}`) })
  const domain = manager.domain('capi')
  domain.addTask({ name: 'webhooks', run: () => Promise.reject(new Error('port taken')) })
  domain.addTask({
    name: 'audit',
    run: signal => new Promise(resolve => signal.addEventListener('abort', () => resolve())),
  })
  await manager.start()
  await settle()
  await manager.stop('shutdown')
  expect(ended).toEqual(['webhooks: Error: port taken'])
})

test('a task runs once, from when its domain first works, also through its waits', async () => {
  const { manager } = aManager()
  const claims = aFeed('claims')
  const { domain } = aDomain(manager, 'capi')
  domain.addFeed(claims.feed)
  let begun = 0
  domain.addTask({
    name: 'history',
    run: signal => {
      begun++
      return new Promise(resolve => signal.addEventListener('abort', () => resolve()))
    },
  })
  claims.suffer('claims is not installed')
  await manager.start()
  expect(begun).toBe(0)
  claims.sync()
  for (const problem of [undefined, 'claims is not installed', undefined]) {
    claims.suffer(problem)
    await settle()
  }
  expect(begun).toBe(1)
  await manager.stop('shutdown')
})

test('nothing is added to a manager that has started', async () => {
  const { manager } = aManager()
  const domain: Domain = manager.domain('capi')
  await manager.start()
  const late = 'comes too late: the manager is running'
  expect(() => manager.domain('vm')).toThrow(`a domain ${late}`)
  expect(() => domain.addFeed(aFeed('pools').feed)).toThrow(`a feed ${late}`)
  expect(() => domain.addReconciler(defineReconciler({ name: 'late', reconcile: async () => done() }))).toThrow(late)
  await manager.stop('shutdown')
})

test('every way in which a pass can end is counted from zero', async () => {
  const { manager, metrics } = aManager()
  aDomain(manager, 'capi')
  for (const outcome of ['done', 'requeue', 'requeue_after', 'conflict', 'failed', 'cancelled']) {
    expect(metrics.text()).toContain(
      `mooring_passes_total{desk="capi",controller="capi.pass",outcome="${outcome}"} 0\n`,
    )
  }
})

test('a domain that does not know any more what a kind shows makes no pass, with a reason or without', async () => {
  const { manager } = aManager()
  const ips = aFeed('ips')
  const { domain, reconciler, passes } = aDomain(manager, 'office')
  domain.addFeed(ips.feed, { isNeeded: false })
  ips.suffer('ips cannot be read: forbidden')
  void manager.start()
  await settle()
  expect([domain.state, passes]).toEqual(['working', ['first']])
  ips.suffer(undefined)
  reconciler.mark('second')
  await settle()
  expect([domain.state, domain.reasons(), passes]).toEqual(['starting', ['ips is not listed yet'], ['first']])
  ips.sync()
  await settle()
  expect([domain.state, passes]).toEqual(['working', ['first', 'second']])
  await manager.stop('shutdown')
})

test('a domain has its admission looked at again when a source of it comes, or cannot be read any more', async () => {
  const { manager } = aManager()
  const vms = aFeed('vms')
  let looks = 0
  const admission: Admission = { missing: () => [], onChange: () => {}, lookAgain: () => looks++ }
  const { domain } = aDomain(manager, 'vm', { admission })
  domain.addFeed(vms.feed)
  vms.sync()
  void manager.start()
  expect([await isStarted(manager), looks]).toEqual([true, 0])
  for (const problem of ['vms is not installed', 'vms is not installed', undefined, 'vms cannot be read: forbidden']) {
    vms.suffer(problem)
  }
  expect(looks).toBe(3)
  await manager.stop('shutdown')
})
