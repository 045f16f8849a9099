// The line between one desk and its vCenter, under the plan's control: every call passes here, is counted, and meets the faults that the
// plan has for it. A call that is not answered is given up after as long as the product's own client waits.

import { vsphereCallMsMax } from '../../src/limits.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { VSphereClient } from '../../src/vsphere/client.ts'
import { VimFault, VSphereConnectionError } from '../../src/vsphere/fault.ts'
import { keyOfRef, type ManagedRef } from '../../src/vsphere/value.ts'
import type { StandInVCenter } from '../harness/stand-in-vcenter.ts'
import { type Life, never } from './life.ts'
import type { Action } from './plan.ts'
import type { Passed, Weather } from './weather.ts'

interface Parts {
  readonly vcenter: StandInVCenter
  readonly weather: Weather
  readonly clock: Clock
  readonly note: (text: string) => void
  readonly crash: () => void
}

type Exchange = () => Promise<Awaited<ReturnType<VSphereClient['call']>>>

export class VCenterWeather {
  readonly #parts: Parts
  #downUntilMs = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  connectorOf(life: Life): () => Promise<VSphereClient> {
    return async () => {
      const client = await this.#parts.vcenter.connect()
      return {
        ...client,
        call: (method, target, args, signal) =>
          this.#send(method, target, life, signal, () => client.call(method, target, args)),
      }
    }
  }

  async #send(
    method: string,
    target: ManagedRef,
    life: Life,
    signal: AbortSignal | undefined,
    exchange: Exchange,
  ): ReturnType<Exchange> {
    await life.goingOn()
    const { weather, clock, note } = this.#parts
    const isTask = method.endsWith('_Task')
    const place = { verb: 'get', kind: method, namespace: '', name: keyOfRef(target) } as const
    const { passed, actions } = weather.pass(isTask ? 'task' : 'ask', place)
    if (isTask) {
      weather.writes++
      note(`${method} ${keyOfRef(target)}`)
    }
    for (const action of actions) await this.#before(action, life)
    if (!weather.isCalm && clock.monotonicMs() < this.#downUntilMs) throw lost(method)
    const late = actions.find(action => action.do === 'delay')
    const answer = late === undefined ? exchange() : this.#late(late, method, life, signal, exchange)
    return this.#answered(answer, method, actions, passed, life)
  }

  async #answered(
    answer: ReturnType<Exchange>,
    method: string,
    actions: readonly Action[],
    passed: Passed,
    life: Life,
  ): ReturnType<Exchange> {
    const { clock, weather } = this.#parts
    try {
      const found = await answer
      passed.answered = { atMs: clock.monotonicMs(), sent: weather.writes }
      for (const action of actions) await this.#after(action, method)
      return found
    } finally {
      await life.goingOn()
    }
  }

  async #before(action: Action, life: Life): Promise<void> {
    const { clock, crash, vcenter } = this.#parts
    switch (action.do) {
      case 'crash':
        if (action.when !== 'before') return
        crash()
        return never()
      case 'lose':
        if (action.what === 'request') throw lost('the call')
        return
      case 'fault':
        throw new VimFault(`vcenter.example refuses (${action.fault})`, action.fault)
      case 'fail':
        vcenter.nextTask = { fault: action.fault }
        return
      case 'slow':
        vcenter.nextTask = { ms: action.forMs }
        return
      case 'down':
        this.#downUntilMs = clock.monotonicMs() + action.forMs
        return
      case 'freeze':
        life.freeze()
        clock.setTimer(action.forMs, () => life.thaw())
        return life.goingOn()
      default:
        return
    }
  }

  async #after(action: Action, method: string): Promise<void> {
    const { crash } = this.#parts
    if (action.do === 'lose' && action.what === 'answer') throw lost(method)
    if (action.do !== 'crash' || action.when === 'before') return
    if (action.when === 'answered') {
      setImmediate(crash)
      return
    }
    crash()
    return never()
  }

  /** Its sender gives up meanwhile, or not; it arrives all the same. */
  #late(
    { what, forMs }: Extract<Action, { do: 'delay' }>,
    method: string,
    life: Life,
    signal: AbortSignal | undefined,
    exchange: Exchange,
  ): ReturnType<Exchange> {
    const { clock } = this.#parts
    const underWay = () => new Promise<void>(resolve => clock.setTimer(forMs, resolve))
    const arrive = async () => {
      if (what === 'request') await underWay()
      const found = await exchange()
      if (what === 'answer') await underWay()
      return found
    }
    return new Promise((resolve, reject) => {
      const cancel = life.clock.setTimer(vsphereCallMsMax, () => reject(lost(method)))
      signal?.addEventListener('abort', () => reject(lost(method)), { once: true })
      arrive().then(resolve, reject).finally(cancel)
    })
  }
}

const lost = (what: string): VSphereConnectionError =>
  new VSphereConnectionError(`${what} at vcenter.example: the connection failed`)
