import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import { parseHold, toHoldObject } from '../../api/hold.ts'
import type { LockState } from '../../api/lock.ts'
import { parseIP } from '../../ip/address.ts'
import { Cache } from '../../kube/cache.ts'
import type { KubeObject } from '../../kube/object.ts'
import { Ledger, type LedgerChange, type Showing } from './ledger.ts'
import { followHolds } from './views.ts'

const pool = { apiGroup: 'mooring.dev', kind: 'AddressPool', namespace: 'lab', name: 'vms' }
const other = { ...pool, name: 'servers' }
const ip = orThrow(parseIP('10.0.0.1'))

function aHold(state: LockState = 'held', from = pool) {
  const claim = { apiGroup: 'example.org', kind: 'Wish', namespace: 'lab', name: 'web', uid: 'u-1' }
  const object = toHoldObject({ space: 'main', ip, bits: 32, pool: from, claim, owner: undefined }, '')
  return orThrow(parseHold({ ...object, status: { state, since: '', until: '' } }))
}

const by = { kind: 'Wish', key: 'lab/web' }
const shown = (as: Showing['as']): Showing => {
  return { by, as, pool, space: 'main', ip, bits: 32, namespace: 'lab' }
}
const unreadable: Showing = { ...shown('report'), space: '', ip: undefined, bits: 0 }

/** The changes it published since they were last read, in short. */
function aLedger() {
  const ledger = new Ledger()
  let published: LedgerChange[] = []
  ledger.subscribe(change => published.push(change))
  const changes = () => {
    const texts = published.map(({ pool, freed }) => `${pool.split('/')[2]}${freed === undefined ? '' : ' freed'}`)
    published = []
    return texts
  }
  const isTaken = () => ledger.indexOf('main').stateOf({ ip, bits: 32 }) === 'held'
  return { ledger, changes, isTaken }
}

describe('the ledger publishes', () => {
  test('that a hold came, was released, and went', () => {
    const { ledger, changes } = aLedger()
    ledger.putHold(aHold())
    expect(changes()).toEqual(['vms'])
    ledger.putHold(aHold('quarantined'))
    expect(changes()).toEqual(['vms freed'])
    ledger.removeHold(aHold())
    expect(changes()).toEqual(['vms freed'])
  })

  test('both pools of an address that one gave after the other', () => {
    const { ledger, changes } = aLedger()
    ledger.putHold(aHold('quarantined', other))
    changes()
    ledger.putHold(aHold())
    expect(changes()).toEqual(['servers freed', 'vms'])
  })

  test('what a claim shows for each of its parts, by itself', () => {
    const { ledger, isTaken } = aLedger()
    const second = orThrow(parseIP('10.0.0.2'))
    ledger.show({ ...shown('intent'), by: { ...by, part: 'v4' } })
    ledger.show({ ...shown('intent'), by: { ...by, part: 'v6' }, ip: second })
    ledger.hide({ ...by, part: 'v6' }, 'intent')
    expect(isTaken()).toBe(true)
    expect(ledger.indexOf('main').stateOf({ ip: second, bits: 32 })).toBe('free')
    ledger.hide({ ...by, part: 'v4' }, 'intent')
    expect(isTaken()).toBe(false)
  })

  test('what is shown around an address that is held, which may come and go', () => {
    const { ledger, isTaken } = aLedger()
    const next = { ip: orThrow(parseIP('10.0.0.2')), bits: 32 }
    const around = { ...shown('choice'), ip: orThrow(parseIP('10.0.0.0')), bits: 30, by: { ...by, key: 'net' } }
    const first = { ...aHold(), ip: around.ip }
    const stateOf = (ip = next.ip) => ledger.indexOf('main').stateOf({ ip, bits: 32 })
    ledger.putHold(first)
    ledger.show(around)
    expect([stateOf(), isTaken()]).toEqual(['held', true])
    ledger.removeHold(first)
    expect(stateOf(first.ip)).toBe('held')
    ledger.putHold(first)
    ledger.hide(around.by, 'choice')
    expect([stateOf(first.ip), stateOf()]).toEqual(['held', 'free'])
    ledger.show(around)
    ledger.removeHold(first)
    ledger.hide(around.by, 'choice')
    expect([stateOf(first.ip), stateOf()]).toEqual(['free', 'free'])
  })

  test('what is shown, once', () => {
    const { ledger, changes } = aLedger()
    ledger.show(shown('choice'))
    expect(changes()).toEqual(['vms'])
    ledger.show(shown('choice'))
    expect(changes()).toEqual([])
    ledger.hide(by, 'choice')
    expect(changes()).toEqual(['vms freed'])
  })

  test('nothing of what is shown beside a hold, except its end: the claim of the hold may have waited for that', () => {
    const { ledger, changes } = aLedger()
    ledger.putHold(aHold())
    changes()
    ledger.show(shown('choice'))
    ledger.show(shown('report'))
    expect(changes()).toEqual([])
    ledger.hide(by, 'choice')
    expect(changes()).toEqual(['vms freed'])
    ledger.hide(by, 'report')
    expect(changes()).toEqual(['vms freed'])
  })

  test('nothing of an intent that becomes a hold, and the end of one that does not', () => {
    const { ledger, changes } = aLedger()
    ledger.show(shown('intent'))
    expect(changes()).toEqual([])
    ledger.hide(by, 'intent')
    expect(changes()).toEqual(['vms freed'])
    ledger.show(shown('intent'))
    ledger.putHold(aHold())
    changes()
    ledger.hide(by, 'intent')
    expect(changes()).toEqual([])
  })
})

describe('a pool is reported', () => {
  test('while a report names it, also one that cannot be read', () => {
    const { ledger, changes } = aLedger()
    ledger.show(unreadable)
    expect(ledger.isReported(pool)).toBe(true)
    expect(ledger.isReported(other)).toBe(false)
    ledger.hide(by, 'report')
    expect(ledger.isReported(pool)).toBe(false)
    expect(changes()).toEqual(['vms'])
  })

  test('with what the reports show, held or not, as far as it can be read', () => {
    const { ledger } = aLedger()
    ledger.putHold(aHold())
    ledger.show(shown('report'))
    ledger.show({ ...unreadable, by: { ...by, key: 'lab/other' } })
    ledger.show(shown('choice'))
    const { ip, bits } = shown('report')
    expect([...ledger.reportedOf(pool)]).toEqual([{ ip, bits }])
    expect([...ledger.reportedOf(other)]).toEqual([])
    ledger.hide(by, 'report')
    expect([...ledger.reportedOf(pool)]).toEqual([])
    expect(ledger.isReported(pool)).toBe(true)
  })

  test('by no choice and no intent', () => {
    const { ledger } = aLedger()
    ledger.show(shown('choice'))
    ledger.show(shown('intent'))
    expect(ledger.isReported(pool)).toBe(false)
  })
})

describe('an address is taken', () => {
  test('while any object shows it, and free when the last of them is gone', () => {
    const { ledger, isTaken } = aLedger()
    ledger.putHold(aHold())
    ledger.show(shown('report'))
    ledger.show(shown('choice'))
    ledger.removeHold(aHold())
    expect(isTaken()).toBe(true)
    ledger.hide(by, 'report')
    expect(isTaken()).toBe(true)
    ledger.hide(by, 'choice')
    expect(isTaken()).toBe(false)
  })

  test('no longer by a report that was read, and cannot be any more', () => {
    const { ledger, isTaken, changes } = aLedger()
    ledger.show(shown('report'))
    changes()
    ledger.show(unreadable)
    expect(isTaken()).toBe(false)
    expect(changes()).toEqual(['vms freed'])
    expect(ledger.isReported(pool)).toBe(true)
  })
})

test('a hold that was edited until it cannot be read is held until its object is gone, and no longer', () => {
  const { ledger, isTaken } = aLedger()
  const holds = new Cache<KubeObject, 'claim' | 'pool'>()
  followHolds({ holds }, ledger)
  const claim = { apiGroup: 'example.org', kind: 'Wish', namespace: 'lab', name: 'web', uid: 'u-1' }
  const made = toHoldObject({ space: 'main', ip, bits: 32, pool, claim, owner: undefined }, '')
  const version = (resourceVersion: string) => ({ ...made.metadata, uid: 'h-1', resourceVersion })
  holds.put({ ...made, metadata: version('1') })
  expect(isTaken()).toBe(true)
  holds.put({ ...made, metadata: version('2'), spec: { ...made.spec, address: 'nonsense' } } as KubeObject)
  expect(isTaken()).toBe(true)
  holds.remove({ ...made, metadata: version('3') })
  expect(isTaken()).toBe(false)
})
