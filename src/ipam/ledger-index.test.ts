import { expect, test } from 'vitest'
import { fromValue, toIPText } from '../ip/address.ts'
import { LedgerIndex } from './ledger-index.ts'

const ip = fromValue(4, 10n << 24n)
const pool = { apiGroup: 'mooring.dev', kind: 'ClusterAddressPool', namespace: '', name: 'lab' }
const claim = { apiGroup: '', kind: 'Wish', namespace: 'lab', name: 'c', uid: 'u' }

const aHold = (space: string) =>
  ({ space, ip, bits: 32, pool, claim, owner: undefined, state: 'held', since: '' }) as const

test('the same address in two spaces is two addresses', () => {
  const ledger = new LedgerIndex()
  ledger.put(aHold('blue'))
  expect(ledger.spaceOf('blue').stateOf({ ip, bits: 32 }), toIPText(ip)).toBe('held')
  expect(ledger.spaceOf('red').stateOf({ ip, bits: 32 })).toBe('free')
})

test('a space that is only asked about is not kept', () => {
  const ledger = new LedgerIndex()
  expect(ledger.spaceOf('blue')).not.toBe(ledger.spaceOf('blue'))
})

test('a space goes when thousands of others have become empty after it, and not while something is held in it', () => {
  const ledger = new LedgerIndex()
  for (const space of ['held', 'emptied']) ledger.put(aHold(space))
  const [held, emptied] = [ledger.spaceOf('held'), ledger.spaceOf('emptied')]
  ledger.remove(aHold('emptied'))
  expect(ledger.spaceOf('emptied')).toBe(emptied)
  for (let i = 0; i < 2_000; i++) {
    ledger.put(aHold(`other-${i}`))
    ledger.remove(aHold(`other-${i}`))
  }
  expect(ledger.spaceOf('emptied')).not.toBe(emptied)
  expect(ledger.spaceOf('held')).toBe(held)
})

test('a space that was empty and is used again is not forgotten for the time it was empty', () => {
  const ledger = new LedgerIndex()
  ledger.put(aHold('again'))
  const again = ledger.spaceOf('again')
  ledger.remove(aHold('again'))
  ledger.put(aHold('again'))
  for (let i = 0; i < 2_000; i++) {
    ledger.put(aHold(`other-${i}`))
    ledger.remove(aHold(`other-${i}`))
  }
  expect(ledger.spaceOf('again')).toBe(again)
  expect(ledger.spaceOf('again').size).toBe(1)
})
