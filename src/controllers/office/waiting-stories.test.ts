// Random stories of the line: claims come, go and rest, passes overlap, fail and begin anew, desks pause, addresses and MACs are
// released into rest or freed. However a story went, once nothing happens any more no claim sleeps beside what it could have.

import { expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import { seededRandom } from '../../../test/harness/seeded-random.ts'
import { parseIP, toIPText } from '../../ip/address.ts'
import { type MACText, parseMAC } from '../../ip/mac.ts'
import { done, requeue } from '../../runtime/reconciler.ts'
import { type ClaimPass, type DeskLine, type Need, settled, Waiting } from './waiting.ts'

const [vms, shared, apart] = ['Pool.example/lab/vms', 'Pool.example/lab/shared', 'Pool.example/lab/apart'] as const
const offers: Readonly<Record<string, readonly string[]>> = {
  [vms]: ['10.0.0.1', '10.0.0.2', '10.0.0.3'],
  [shared]: ['10.0.0.3', '10.0.0.4'],
  [apart]: ['10.0.0.9'],
}
const identity = { apiGroup: 'example', kind: 'Pool', namespace: 'lab', name: 'vms' }
const mac = (last: number): MACText => orThrow(parseMAC(`02:00:00:00:00:0${last}`))
const blockOf = (text: string) => ({ ip: orThrow(parseIP(text)), bits: 32 })

const anyOf = (pool: string): Need => ({ kind: 'any', pool })
const justThis = (pool: string, text: string): Need => ({ kind: 'one', pool, block: blockOf(text) })
const card = (last: number): Need => ({ kind: 'mac', pool: vms, mac: mac(last) })

/** What a claim asks for, by its number. */
const asks: readonly (readonly Need[])[] = [
  [anyOf(vms)],
  [anyOf(shared)],
  [justThis(vms, '10.0.0.1')],
  [justThis(vms, '10.0.0.3')],
  [justThis(shared, '10.0.0.3')],
  [card(1)],
  [anyOf(vms), card(1)],
  [justThis(vms, '10.0.0.1'), anyOf(apart)],
  [anyOf(vms), anyOf(apart)],
  [anyOf(shared), card(2)],
]
const deskNames = ['one', 'other']
const numbers = asks.map((_, number) => number)

type End = 'ok' | 'fails' | 'begins anew'

/** What a pass is to take, or what it waits for. */
type Decided = { readonly take: readonly string[] } | { readonly needs: readonly Need[] }

class Story {
  readonly #random: () => number
  readonly #shift: number
  /** What is not free: held, at rest, or about to be taken. */
  readonly #state = new Map<string, 'held' | 'rests' | 'about to be taken'>()
  readonly #there = new Set<number>()
  readonly #has = new Map<number, readonly string[]>()
  readonly #marked = new Set<number>()
  readonly #running = new Map<number, { isMarked: boolean; end?: (how: End) => void }>()
  readonly #later = new Set<number>()
  readonly #resting = new Set<number>()
  readonly #paused = new Set<number>()
  readonly #waiting = new Waiting({
    freeOf: pool => (offers[pool] ?? []).filter(text => this.#isFree(text)).length,
    poolsOf: () => Object.keys(offers),
    isShared: (one, other) => (offers[one] ?? []).some(text => offers[other]?.includes(text)),
    isFree: (_, what) => this.#isFree(typeof what === 'string' ? what : toIPText(what.ip)),
  })
  readonly #lines = deskNames.map(desk =>
    this.#waiting.ofDesk({ desk, claimKind: 'Berth' }, key => this.#mark(Number(key.slice('lab/'.length)))),
  )

  constructor(seed: number) {
    this.#random = seededRandom(seed)
    this.#shift = seed
  }

  #isFree = (text: string): boolean => !this.#state.has(text)
  #below = (n: number): number => Math.floor(this.#random() * n)
  #asksOf = (claim: number): readonly Need[] => asks[(claim * 7 + this.#shift) % asks.length] ?? []
  #lineOf = (claim: number): DeskLine => this.#lines[claim % 2] as DeskLine

  #mark(claim: number): void {
    const run = this.#running.get(claim)
    if (run !== undefined) run.isMarked = true
    else if (!this.#resting.has(claim)) this.#marked.add(claim)
  }

  #release(text: string, isAtRest: boolean): void {
    if (isAtRest) this.#state.set(text, 'rests')
    else this.#state.delete(text)
    if (text.includes(':')) this.#waiting.macFreed('main', text as MACText)
    else this.#waiting.freed({ space: 'main', block: blockOf(text), pool: vms, namespace: 'lab' })
  }

  #decide(claim: number): Decided {
    const take: string[] = []
    const needs: Need[] = []
    for (const need of this.#asksOf(claim)) {
      const found = this.#find(need, take)
      if (found === undefined) needs.push(need)
      else take.push(found)
    }
    return needs.length > 0 ? { needs } : { take }
  }

  #find(need: Need, taken: readonly string[]): string | undefined {
    if (need.kind === 'any') return offers[need.pool]?.find(text => this.#isFree(text) && !taken.includes(text))
    const text = need.kind === 'mac' ? need.mac : need.kind === 'one' && need.block ? toIPText(need.block.ip) : ''
    return this.#isFree(text) ? text : undefined
  }

  #begin(claim: number): void {
    this.#marked.delete(claim)
    const run: { isMarked: boolean; end?: (how: End) => void } = { isMarked: false }
    this.#running.set(claim, run)
    const ended = () =>
      new Promise<End>(resolve => {
        run.end = resolve
      })
    const passed = this.#lineOf(claim).during(`lab/${claim}`, () => this.#pass(claim, ended))
    void passed
      .then(
        next => {
          run.isMarked ||= next.kind === 'requeue'
        },
        () => {
          this.#later.add(claim)
        },
      )
      .then(() => {
        this.#running.delete(claim)
        // Its key is told to rest.
        if (this.#there.has(claim) && this.#below(5) === 0) {
          this.#resting.add(claim)
          this.#lineOf(claim).rests(`lab/${claim}`)
        } else if (run.isMarked) this.#mark(claim)
      })
  }

  async #pass(claim: number, ended: () => Promise<End>): Promise<ClaimPass> {
    if (!this.#there.has(claim) || this.#has.has(claim)) return settled()
    const decided = this.#decide(claim)
    const take = 'take' in decided ? decided.take : []
    // As the ledger shows what is about to be taken; of MACs it does not.
    const shown = take.filter(text => !text.includes(':'))
    for (const text of shown) this.#state.set(text, 'about to be taken')
    const how = await ended()
    const isLost = take.some(text => text.includes(':') && !this.#isFree(text)) || !this.#there.has(claim)
    if ('take' in decided && (how !== 'ok' || isLost)) for (const text of shown) this.#release(text, false)
    if (how === 'fails') throw new Error('the API server is down')
    if (how === 'begins anew' || ('take' in decided && isLost)) return settled(requeue())
    if ('needs' in decided) return { next: done(), waits: this.#waits(claim, decided.needs) }
    for (const text of take) this.#state.set(text, 'held')
    this.#has.set(claim, take)
    return settled()
  }

  #waits(claim: number, needs: readonly Need[]) {
    const createdAt = `2030-01-01T00:00:${10 + claim}Z`
    return { needs, pool: identity, namespace: 'lab', tenant: '', createdAt, reason: 'PoolExhausted' as const }
  }

  #go(claim: number): void {
    this.#there.delete(claim)
    const had = this.#has.get(claim) ?? []
    this.#has.delete(claim)
    for (const text of had) this.#release(text, this.#random() < 0.5)
    this.#mark(claim)
  }

  #pauseOrGoOn(desk: number): void {
    if (this.#paused.delete(desk)) this.#lines[desk]?.goOn()
    else {
      this.#paused.add(desk)
      this.#lines[desk]?.pause()
    }
  }

  #wakeUp(claim: number): void {
    this.#resting.delete(claim)
    this.#mark(claim)
  }

  #retry(claim: number): void {
    this.#later.delete(claim)
    this.#mark(claim)
  }

  #end(claim: number, how: End): void {
    const run = this.#running.get(claim)
    const end = run?.end
    if (run !== undefined) delete run.end
    end?.(how)
  }

  #pick<T>(from: Iterable<T>): T | undefined {
    const all = [...from]
    return all[this.#below(Math.max(all.length, 1))]
  }

  readonly #happenings: readonly (() => void)[] = [
    ...Array.from({ length: 3 }, () => () => this.#come(this.#below(numbers.length))),
    () => this.#random() < 0.8 && this.#if(this.#pick(this.#has.keys()), claim => this.#go(claim)),
    () => this.#if(this.#pick(this.#atRest()), text => this.#release(text, false)),
    () => this.#random() < 0.3 && this.#pauseOrGoOn(this.#below(2)),
    () => this.#if(this.#pick(this.#later), claim => this.#retry(claim)),
    () => this.#random() < 0.3 && this.#if(this.#pick(this.#resting), claim => this.#wakeUp(claim)),
    ...Array.from({ length: 2 }, () => () => this.#if(this.#ready()[0], claim => this.#begin(claim))),
    ...Array.from({ length: 3 }, () => () => {
      const how = this.#pick<End>(['ok', 'ok', 'ok', 'fails', 'begins anew']) ?? 'ok'
      this.#if(this.#pick(this.#endable()), claim => this.#end(claim, how))
    }),
  ]

  #if<T>(one: T | undefined, act: (one: T) => void): void {
    if (one !== undefined) act(one)
  }

  #come(claim: number): void {
    if (this.#there.has(claim)) return
    this.#there.add(claim)
    this.#mark(claim)
  }

  #atRest = (): string[] => [...this.#state].filter(([, state]) => state === 'rests').map(([text]) => text)
  #ready = (): number[] => [...this.#marked].filter(claim => !this.#paused.has(claim % 2))
  #endable = (): number[] => [...this.#running].filter(([, { end }]) => end !== undefined).map(([claim]) => claim)

  async play(): Promise<void> {
    for (let step = 0; step < 120; step++) {
      this.#happenings[this.#below(this.#happenings.length)]?.()
      await turns()
    }
    await this.#comeToRest()
  }

  /** Passes run until there is none left. Keys that rest stay so: no other claim waits for them. */
  async #comeToRest(): Promise<void> {
    for (let round = 0; round < 3_000; round++) {
      for (const claim of this.#later) this.#retry(claim)
      const [[next], [last]] = [this.#ready(), this.#endable()]
      if (next !== undefined && (last === undefined || this.#random() < 0.5)) this.#begin(next)
      else if (last !== undefined) this.#end(last, 'ok')
      else if (this.#running.size === 0) return
      await turns()
    }
    throw new Error('passes follow passes without end')
  }

  /** What must not be there in the end. */
  wrongs(): string[] {
    const working = numbers.filter(claim => !this.#paused.has(claim % 2) && !this.#resting.has(claim))
    const without = working.filter(claim => this.#there.has(claim) && !this.#has.has(claim))
    const waits = new Set([...this.#waiting.all()].map(({ key }) => Number(key.split('/')[1])))
    return [
      ...without
        .filter(claim => 'take' in this.#decide(claim))
        .map(claim => `${claim} sleeps beside what it could have`),
      ...without.filter(claim => !waits.has(claim)).map(claim => `${claim} is in no line`),
      ...working
        .filter(claim => waits.has(claim) && !without.includes(claim))
        .map(claim => `${claim} waits for nothing`),
    ]
  }
}

/** Passes that wait for nothing but turns come to where they wait. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await Promise.resolve()
}

test('no claim sleeps beside what it could have, whatever happened before', async () => {
  const wrongs: string[] = []
  for (let seed = 1; seed <= 3_000; seed++) {
    const story = new Story(seed)
    await story.play()
    for (const wrong of story.wrongs()) wrongs.push(`seed ${seed}: ${wrong}`)
  }
  expect(wrongs).toEqual([])
})
