import fc from 'fast-check'
import { expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import { parseIP } from '../../ip/address.ts'
import { overlapsCIDR } from '../../ip/cidr.ts'
import { parseMAC } from '../../ip/mac.ts'
import { Wanted, type Wish } from './wanted.ts'

const texts = ['10.0.0.1', '10.0.0.2', '10.0.0.130', '10.0.1.1', 'fd00::1', 'fd00::1:1']
const blocks = fc
  .record({ text: fc.constantFrom(...texts), less: fc.constantFrom(0, 1, 8, 16) })
  .map(({ text, less }) => ({ ip: orThrow(parseIP(text)), bits: (text.includes(':') ? 128 : 32) - less }))
const macs = ['02:00:5e:10:00:01', '02:00:5e:10:00:02'].map(text => orThrow(parseMAC(text)))
const wishes = fc.oneof(
  fc.option(blocks, { nil: undefined }).map((block): Wish => ({ kind: 'one', block })),
  fc.constantFrom(...macs).map((mac): Wish => ({ kind: 'mac', mac })),
)

test('finds those whom a look at every one would find, also after some have gone, and forgets all that have', () => {
  fc.assert(
    fc.property(fc.array(wishes), fc.array(fc.nat(20)), blocks, (all, gone, freed) => {
      const wanted = new Wanted<number>()
      for (const [one, wish] of all.entries()) wanted.add(one, wish)
      const left = [...all.entries()].filter(([one]) => !gone.includes(one))
      for (const [one, wish] of all.entries()) if (gone.includes(one)) wanted.delete(one, wish)
      const helped = left.filter(
        ([, wish]) =>
          wish.kind === 'one' &&
          (wish.block === undefined || (wish.block.ip.family === freed.ip.family && overlapsCIDR(wish.block, freed))),
      )
      expect(wanted.helpedBy(freed).toSorted()).toEqual(helped.map(([one]) => one).toSorted())
      for (const mac of macs) {
        const ofMAC = left.filter(([, wish]) => wish.kind === 'mac' && wish.mac === mac)
        expect(wanted.helpedByMAC(mac)).toEqual(ofMAC.map(([one]) => one))
      }
      expect([...wanted.all()].toSorted()).toEqual(left.map(([one]) => one).toSorted())
      for (const [one, wish] of left) wanted.delete(one, wish)
      expect(wanted.isEmpty).toBe(true)
    }),
  )
})
