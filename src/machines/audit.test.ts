// What does not fit together in a namespace of Machines.

import { describe, expect, test } from 'vitest'
import {
  aClaim,
  aFleet,
  aHold,
  aMachine,
  anAddress,
  aPool,
  aRunning,
  fromLab,
  namespace,
  type Thing,
} from '../../test/machines/builders.ts'
import { audit, findingIds } from './audit.ts'

const lab = aPool('lab', '10.0.0.1-10.0.0.9')
const whole = aRunning('m-1', '', '10.0.0.1')

const found = (...things: readonly (Thing | readonly Thing[])[]) =>
  audit(aFleet(lab, ...things.flat())).map(({ id, severity, object, message }) =>
    [severity, id, object.replace(`${namespace}/`, ''), message].join(' | '),
  )

const without = (kind: string) => whole.filter(thing => thing.kind !== kind)

test('Machines that have what they ask for are no finding', () => {
  expect(found(whole, aRunning('m-2', '', '10.0.0.2'))).toEqual([])
})

describe('An audit finds', () => {
  test.each<[string, readonly Thing[], string[]]>([
    [
      'an IPAddress without its claim',
      [anAddress('left', '10.0.0.7', 'gone')],
      ['warn | AddressWithoutClaim | IPAddress left | its claim gone is gone, and it keeps 10.0.0.7 from use'],
    ],
    [
      'an IPAddress that names no claim',
      [anAddress('left', '10.0.0.7', '')],
      ['warn | AddressWithoutClaim | IPAddress left | it names no claim, and it keeps 10.0.0.7 from use'],
    ],
    [
      'a claim by its name alone, whose Machine does not exist',
      [aClaim('m-9-claim-0-0', { finalizers: [] })],
      ['warn | ClaimWithoutMachine | IPAddressClaim m-9-claim-0-0 | it is of Machine m-9, which does not exist'],
    ],
    [
      'a claim that a finalizer keeps although its Machine is gone',
      [aClaim('m-9-claim-0-0', { machine: 'm-9' })],
      [
        'warn | ClaimProtectedWithoutMachine | IPAddressClaim m-9-claim-0-0 | it is of Machine m-9, which does not exist, and the finalizer machine.openshift.io/ip-claim-protection keeps it and its address',
      ],
    ],
    [
      'one that is being deleted, and that the finalizer in its other spelling keeps',
      [aClaim('m-9-claim-0-0', { isDeleting: true, finalizers: ['machines.openshift.io/ip-claim-protection'] })],
      [
        'warn | ClaimProtectedWithoutMachine | IPAddressClaim m-9-claim-0-0 | it is of Machine m-9, which does not exist, and the finalizer machines.openshift.io/ip-claim-protection keeps it and its address',
      ],
    ],
    [
      'a Machine that runs, and whose claim is gone',
      [aMachine('m-1', { devices: fromLab })],
      [
        'error | MachineWithoutClaim | Machine m-1 | its virtual machine was ordered, and its claim m-1-claim-0-0 is gone: its address may be given to another machine',
      ],
    ],
    [
      'a Machine that waits for its claim to be made',
      [aMachine('m-1', { devices: fromLab, isRunning: false })],
      ['warn | MachineWithoutClaim | Machine m-1 | its claim m-1-claim-0-0 is not there yet'],
    ],
    [
      'a claim on another pool than its Machine asks for',
      [aMachine('m-1', { devices: fromLab }), aClaim('m-1-claim-0-0', { machine: 'm-1', pool: 'other' })],
      [
        `error | PoolDiffers | IPAddressClaim m-1-claim-0-0 | it names AddressPool other of mooring.dev, and Machine ${namespace}/m-1 asks for AddressPool lab of mooring.dev`,
      ],
    ],
    [
      'a hold whose claim is gone; one that rests is none',
      [aHold('10.0.0.7', 'gone'), aHold('10.0.0.8', 'gone', { until: '2026-01-02T00:00:00Z' })],
      [
        `warn | HoldWithoutClaim | Hold ${aHold('10.0.0.7', 'gone').metadata.name} | it holds 10.0.0.7 of space AddressPool.mooring.dev/${namespace}/lab for IPAddressClaim ${namespace}/gone, which is gone`,
      ],
    ],
    [
      'a guest that does not report the address of its claim',
      [...without('Machine'), aMachine('m-1', { devices: fromLab, reported: ['10.0.0.5', 'fe80::1'] })],
      [
        'error | GuestLacksAddress | Machine m-1 | its claim m-1-claim-0-0 has 10.0.0.1, and its guest reports 10.0.0.5, fe80::1',
      ],
    ],
    [
      'a fixed address that the claim of another machine holds',
      [...whole, aMachine('m-2', { devices: [{ ipAddrs: ['10.0.0.1/24'] }] })],
      [
        `error | FixedAddressHeld | Machine m-2 | its ipAddrs has 10.0.0.1/24, which IPAddressClaim ${namespace}/m-1-claim-0-0 holds in space AddressPool.mooring.dev/${namespace}/lab`,
      ],
    ],
    [
      'a fixed address that is none',
      [aMachine('m-2', { devices: [{ ipAddrs: ['nonsense'] }] })],
      [expect.stringContaining('warn | Unreadable | Machine m-2 | it cannot be read') as unknown as string],
    ],
  ])('%s', (_, things, expected) => {
    expect(found(...things)).toEqual(expected)
  })

  test('one address that two claims are bound to, by one IPAddress or by two', () => {
    const second = (boundTo: string) => [
      aMachine('m-2', { devices: fromLab }),
      aClaim('m-2-claim-0-0', { machine: 'm-2', boundTo }),
    ]
    const expected = ['m-1', 'm-2'].map((name, i) => {
      const other = ['m-2', 'm-1'][i]
      return `error | AddressBoundTwice | IPAddressClaim ${name}-claim-0-0 | it is bound to 10.0.0.1, and so is IPAddressClaim ${namespace}/${other}-claim-0-0`
    })
    expect(found(whole, second('m-1-claim-0-0'))).toEqual(expected)
    expect(found(whole, second('x'), anAddress('x', '10.0.0.1', 'm-2-claim-0-0'))).toEqual(expected)
  })

  test('no conflict in a fixed address that the Machine holds by its own claim too', () => {
    const both = aMachine('m-1', { devices: [{ ipAddrs: ['10.0.0.1/24'], pools: ['lab'] }] })
    expect(found(both, without('Machine'))).toEqual([])
  })

  test('no conflict in one address of two pools that are spaces of their own', () => {
    const other = [
      aMachine('m-2', { devices: [{ pools: ['next'] }] }),
      aClaim('m-2-claim-0-0', { machine: 'm-2', boundTo: 'm-2-claim-0-0', pool: 'next' }),
      anAddress('m-2-claim-0-0', '10.0.0.1', 'm-2-claim-0-0', 'next'),
    ]
    expect(found(whole, other, aPool('next', '10.0.0.1-10.0.0.9'))).toEqual([])
  })

  test('the claim of an earlier Machine of the same name', () => {
    const renewed = { ...aMachine('m-1'), metadata: { name: 'm-1', namespace, uid: 'another' } }
    expect(found(renewed, aClaim('m-1-claim-0-0', { machine: 'm-1', finalizers: [] }))).toEqual([
      'warn | ClaimWithoutMachine | IPAddressClaim m-1-claim-0-0 | it is of an earlier Machine m-1, which is gone',
    ])
  })

  test('nothing in claims of other objects, and in those of other namespaces', () => {
    const owned = aClaim('x-claim-0-0')
    const owner = { apiVersion: 'example.com/v1', kind: 'Thing', name: 'x', uid: 'x', controller: true }
    const theirs = { ...owned, metadata: { ...owned.metadata, ownerReferences: [owner] } }
    expect(found(theirs, aClaim('plain'), aClaim('m-9-claim-0-0', { ofNamespace: 'shop' }))).toEqual([])
  })

  test('objects that cannot be read, and goes on', () => {
    const broken = { ...aClaim('x'), spec: { poolRef: 'lab' } }
    const machine = JSON.parse(JSON.stringify(aMachine('m-3')).replace('"devices":[]', '"devices":7'))
    expect(found(broken, machine, anAddress('left', '10.0.0.7', 'gone')).map(text => text.split(' | ')[1])).toEqual([
      'AddressWithoutClaim',
      'Unreadable',
      'Unreadable',
    ])
  })
})

test('every finding says what to do, and errors come first', () => {
  const all = audit(aFleet(lab, aMachine('m-1', { devices: fromLab }), anAddress('left', '10.0.0.7', 'gone')))
  expect(all.map(({ severity }) => severity)).toEqual(['error', 'warn'])
  expect(all.every(({ fix, id }) => fix !== '' && findingIds.includes(id))).toBe(true)
})
