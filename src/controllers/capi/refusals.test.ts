import { expect, test } from 'vitest'
import { claimablePoolKinds } from '../../api/ip-address-claim.ts'
import { mooringGroup } from '../../api/names.ts'
import { namedPoolNotFound } from './refusals.ts'

const pool = (apiGroup: string, kind: string) => ({ apiGroup, kind, namespace: '', name: 'vms' })

test('a claim whose kind of pool is misspelt reads which kinds it may name, each of them one that it may', () => {
  const { message } = namedPoolNotFound(pool(mooringGroup, 'AdressPool'))
  expect(message).toBe(
    'mooring.dev has no kind "AdressPool" of pool: make another claim, whose spec.poolRef.kind is AddressPool or ClusterAddressPool',
  )
  const named = message.split('spec.poolRef.kind is ')[1]?.split(' or ')
  const offered = claimablePoolKinds.filter(({ group }) => group === mooringGroup).map(({ kind }) => kind)
  expect(named).toEqual(offered)
})

test.each(claimablePoolKinds)(
  'a claim on a $kind of $group that is not there reads which pool is to be created',
  known => {
    const { reason, message } = namedPoolNotFound(pool(known.group, known.kind))
    expect(reason).toBe('PoolNotFound')
    const isOneOfTwo = claimablePoolKinds.filter(({ kind }) => kind === known.kind).length > 1
    expect(message).toBe(
      `${known.kind} vms${isOneOfTwo ? ` of ${known.group}` : ''} does not exist: create it, or make a claim that names another pool`,
    )
  },
)
