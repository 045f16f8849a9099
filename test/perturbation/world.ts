// A world in one process and in virtual time: the real API server, one or two desks that do not know of each other, each
// behind its own weather, people that act through the API, and an observer of every revision. Nothing in it waits for
// anything but turns of the event loop and the world's clock, so a run repeats to the letter.

import { assemble } from '../../src/controllers/assemble.ts'
import type { Desk } from '../../src/controllers/desk.ts'
import { desks as table } from '../../src/controllers/desks.ts'
import { speak } from '../../src/kube/speak.ts'
import type { Wire, WireRequest } from '../../src/kube/wire.ts'
import { type NodeAgent, startNodeAgent } from '../../src/node/agent.ts'
import type { StateDisk } from '../../src/node/state.ts'
import { memoryState } from '../harness/memory-state.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { silentLog } from '../harness/silent-log.ts'
import { StandInVCenter } from '../harness/stand-in-vcenter.ts'
import { VirtualClock } from '../harness/virtual-clock.ts'
import type { Call } from './call.ts'
import { describeCall } from './call.ts'
import { leanServer } from './lean-server.ts'
import { Life, type OldView } from './life.ts'
import { Observer } from './observer.ts'
import type { ActorName, Plan } from './plan.ts'
import { embeddedServer, type Server } from './server.ts'
import { takeTimers } from './timers.ts'
import { VCenterWeather } from './vcenter-weather.ts'
import { Weather } from './weather.ts'

export type Distort = (wire: Wire, weather: Weather) => Wire

export interface WorldOptions {
  readonly plan: Plan
  /** 0 is a world without delays; every other seed has its own delays and chances. */
  readonly seed: number
  readonly distort?: Distort
  /** Desks make the virtual machines of Machines. */
  readonly isFull?: boolean
  /** The table of desks of every process: by default the product's. */
  readonly table?: readonly Desk[]
  /** Nodes whose agents run, in the process of desk A: what strikes it strikes them. */
  readonly nodes?: readonly string[]
  /** The lean one unless the embedded one is asked for. */
  readonly server?: 'lean' | 'embedded'
}

/** How long a new process takes to come up. */
const birthMs = 500
const quietTurns = 6
/** More than a storm takes. */
const turnsMax = 5_000
/** Lines; a scenario with its fault takes some hundreds, and two thousand where two desks see different things and correct each other. */
const historyMax = 5_000

/** A desk goes in circles. */
export class Restless extends Error {
  override readonly name = 'Restless'
}

export class PerturbedWorld {
  readonly clock: VirtualClock
  readonly server: Server
  readonly observer: Observer
  /** Where Mooring makes virtual machines. */
  readonly vcenter: StandInVCenter | undefined
  readonly history: string[] = []
  readonly violations: string[] = []
  readonly weathers = new Map<ActorName, Weather>()
  readonly #vcenterWeathers = new Map<ActorName, VCenterWeather>()
  readonly #desks = new Map<ActorName, { life: Life; stop: () => Promise<void> }>()
  /** What runs on nodes, by pod. */
  readonly sandboxes = new Map<string, { readonly address: string; readonly user: string }>()
  readonly #agents = new Map<string, NodeAgent>()
  /** The disks of nodes: they outlive every process. */
  readonly #disks = new Map<string, StateDisk>()
  readonly #options: WorldOptions
  readonly #stopWatching: () => void
  readonly #giveTimersBack: () => void
  #activity = 0
  #isEnding = false

  static async begin(options: WorldOptions): Promise<PerturbedWorld> {
    const clock = new VirtualClock()
    const giveTimersBack = takeTimers(clock)
    try {
      const server = options.server === 'embedded' ? await embeddedServer(clock, options.seed) : leanServer(clock)
      return new PerturbedWorld(options, clock, server, giveTimersBack)
    } catch (error) {
      giveTimersBack()
      throw error
    }
  }

  private constructor(options: WorldOptions, clock: VirtualClock, server: Server, giveTimersBack: () => void) {
    this.#options = options
    this.clock = clock
    this.server = server
    this.#giveTimersBack = giveTimersBack
    this.vcenter = options.isFull === true ? new StandInVCenter(clock) : undefined
    this.observer = new Observer(() => clock.now(), this.vcenter)
    this.#stopWatching = server.onChange(seen => {
      this.#activity++
      const { type, key, revision } = seen
      if (!key.includes('/events/')) this.note('store', `${revision} ${type} ${key}`)
      this.observer.see(seen)
      this.#checkSandboxes()
    })
    for (const actor of (['A', 'B'] as const).slice(0, options.plan.desks)) {
      const weather = this.#weatherOf(actor)
      this.weathers.set(actor, weather)
      if (this.vcenter !== undefined)
        this.#vcenterWeathers.set(actor, this.#vcenterWeatherOf(actor, this.vcenter, weather))
      this.#startDesk(actor)
    }
  }

  note(source: string, text: string): void {
    this.#activity++
    this.history.push(`${this.clock.monotonicMs()} ${source} ${text}`)
  }

  say(violation: string): void {
    if (this.violations.length < 20) this.violations.push(violation)
  }

  get deskWrites(): number {
    let sum = 0
    for (const { writes } of this.weathers.values()) sum += writes
    return sum
  }

  // --- time ---

  /** Resolves when everything that waits for no time has run. */
  async still(): Promise<void> {
    let turns = 0
    for (let quiet = 0; quiet < quietTurns; quiet++) {
      const isTooMuch = turns++ > turnsMax || this.history.length > historyMax
      if (isTooMuch && this.#isEnding) return
      if (isTooMuch) throw new Restless('the world does not come to rest')
      const before = this.#activity
      await new Promise(resolve => setImmediate(resolve))
      const isBusy = [...this.weathers.values()].some(({ inFlight }) => inFlight > 0)
      if (isBusy || this.#activity !== before) quiet = -1
    }
  }

  /** Lets time pass, at most so much of it, until something is true. Answers whether it is. */
  async until(isTrue: () => boolean, limitMs: number): Promise<boolean> {
    const endMs = this.clock.monotonicMs() + limitMs
    for (;;) {
      await this.still()
      if (isTrue()) return true
      const leftMs = endMs - this.clock.monotonicMs()
      if (leftMs <= 0) return false
      await this.clock.advance(Math.min(leftMs, this.clock.nextMs ?? leftMs))
    }
  }

  async pass(milliseconds: number): Promise<void> {
    await this.until(() => false, milliseconds)
  }

  // --- desks ---

  #weatherOf(actor: ActorName): Weather {
    const { plan, seed, distort } = this.#options
    const { server } = this
    return new Weather({
      actor,
      plan,
      clock: this.clock,
      upstream: server.wire(),
      random: seed === 0 ? undefined : seededRandom(seed * 31 + actor.charCodeAt(0)),
      note: text => this.note(actor, text),
      onSent: (call, request) => this.#checkWrite(actor, call, request),
      crash: view => this.restart(actor, view),
      forestall: (call, body, as) => this.#forestall(call, body, as),
      revision: () => server.revision,
      ...(distort && { distort }),
    })
  }

  #vcenterWeatherOf(actor: ActorName, vcenter: StandInVCenter, weather: Weather): VCenterWeather {
    const note = (text: string) => this.note(actor, text)
    return new VCenterWeather({ vcenter, weather, clock: this.clock, note, crash: () => this.restart(actor) })
  }

  #startDesk(actor: ActorName, view?: OldView): void {
    const weather = this.weathers.get(actor)
    if (weather === undefined || this.#isEnding) return
    const life = new Life(this.clock, view)
    const { clock } = life
    const random = seededRandom(this.#options.seed * 7 + this.history.length + actor.charCodeAt(0))
    const name = `desk-${actor}`
    const wire = weather.connect(life)
    const { client, discovery } = speak({ wire, clock, name })
    const desks = this.#options.table ?? table
    const on = desks.map(desk => desk.name)
    const parts = { client, discovery, clock, random, log: silentLog, instance: name, isFrozen: true }
    const connect = this.#vcenterWeathers.get(actor)?.connectorOf(life)
    const full = connect && { machineMode: 'full' as const, vcenters: { servers, connect } }
    const assembled = assemble({ ...parts, desks, on, ...full })
    this.note(actor, 'starts')
    void assembled.start().catch(() => {})
    const agents = (actor === 'A' ? (this.#options.nodes ?? []) : []).map(node => {
      const disk = this.#disks.get(node) ?? memoryState()
      this.#disks.set(node, disk)
      const agent = startNodeAgent({ node, client, clock, random, log: silentLog, disk, boot: 'one' })
      this.#agents.set(node, agent)
      return agent
    })
    const stop = async () => {
      await Promise.all([assembled.stop('shutdown'), ...agents.map(agent => agent.stop())])
    }
    this.#desks.set(actor, { life, stop })
  }

  /** Undefined while its process is down. */
  nodeAgent(node: string): NodeAgent | undefined {
    return this.#agents.get(node)
  }

  enterSandbox(pod: string, address: string, user: string): void {
    for (const [other, has] of this.sandboxes) {
      if (has.address === address && has.user !== user) this.say(`${pod} and ${other} both run with ${address}`)
    }
    this.sandboxes.set(pod, { address, user })
    this.#checkSandboxes()
  }

  #checkSandboxes(): void {
    for (const [pod, { address }] of this.sandboxes) {
      const isHeld = [...this.observer.holds.values()].some(
        ({ spec, status }) => spec?.address === address && status?.state === 'held',
      )
      if (!isHeld) this.say(`${pod} runs with ${address}, which is held by none`)
    }
  }

  /** The process is killed; another one starts, perhaps into the past. */
  restart(actor: ActorName, view?: OldView): void {
    const desk = this.#desks.get(actor)
    // Dead already, and about to be born.
    if (desk === undefined) return
    this.note(actor, 'crashes')
    desk.life.die()
    if (actor === 'A') this.#agents.clear()
    this.#desks.delete(actor)
    this.clock.setTimer(birthMs, () => this.#startDesk(actor, view))
  }

  /** Everything that was out of order works again, and every desk looks at everything anew. */
  async heal(): Promise<void> {
    for (const weather of this.weathers.values()) weather.heal()
    for (const { life } of this.#desks.values()) life.thaw()
    await this.pass(60_000)
  }

  async end(): Promise<void> {
    this.#isEnding = true
    try {
      const stopped = Promise.all([...this.#desks.values()].map(({ stop }) => stop())).then(() => true)
      let isStopped = false
      void stopped.then(() => {
        isStopped = true
      })
      if (!(await this.until(() => isStopped, 30_000))) this.say('a desk did not stop')
      await this.still()
      this.#stopWatching()
      await this.server.stop()
      await this.still()
      for (const [actor, { streams }] of this.weathers)
        if (streams > 0) this.say(`${actor} left ${streams} streams open`)
      if (this.clock.timers > 0) this.say(`${this.clock.timers} timers are left`)
      for (const fault of this.server.faults) this.say(`the server: ${fault}`)
    } finally {
      this.#giveTimersBack()
    }
  }

  // --- what the wire must show ---

  /** Every change and every deletion carries the uid and version it was decided on. */
  #checkWrite(actor: ActorName, call: Call, { body = '' }: WireRequest): void {
    if (call.verb === 'create') return
    const sent = JSON.parse(body === '' ? '{}' : body) as {
      metadata?: { uid?: string; resourceVersion?: string }
      preconditions?: { uid?: string; resourceVersion?: string }
    }
    const carried = call.verb === 'delete' ? sent.preconditions : sent.metadata
    if (!carried?.uid || !carried.resourceVersion)
      this.say(`${actor}: ${describeCall(call)} carries no uid and version`)
  }

  /** A hold or an IPAddress of the same name appears, of a claim that does not exist, or of none. */
  async #forestall({ kind, namespace }: Call, body: string, as: 'another' | 'none'): Promise<void> {
    const { spec, metadata, ...rest } = JSON.parse(body) as Forestalled
    const uid = '00000000-0000-4000-8000-ffffffffffff'
    if (kind === 'holds' || kind === 'macholds') {
      const labels = { 'mooring.dev/claim-uid': uid }
      await this.server.admin.request('POST', `/apis/mooring.dev/v1alpha1/${kind}`, {
        ...rest,
        metadata: { ...metadata, labels },
        spec: { ...spec, claimRef: { ...spec.claimRef, name: 'a-stranger', uid } },
      })
      return
    }
    const claims = metadata.ownerReferences?.filter(owner => owner.kind === 'IPAddressClaim') ?? []
    const { ownerReferences: _, finalizers: __, ...bare } = metadata
    const ownerReferences = claims.map(owner => ({ ...owner, uid }))
    await this.server.admin.request('POST', `${reportsPath}/namespaces/${namespace}/ipaddresses`, {
      ...rest,
      metadata: as === 'none' ? bare : { ...metadata, ownerReferences },
      spec,
    })
  }
}

const servers = new Map([['vcenter.example', 'vcenter.example']])

const reportsPath = '/apis/ipam.cluster.x-k8s.io/v1beta2'

interface Forestalled {
  readonly metadata: {
    readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[]
    readonly finalizers?: readonly string[]
  }
  readonly spec: { readonly claimRef?: object }
}
