// `npm run test:kargs [-- --seed=N]`: what we say a guest makes of its kernel arguments is what NetworkManager's own generator makes
// of them, for the arguments that are known and for some hundreds that are made up.

import { isDeepStrictEqual, parseArgs } from 'node:util'
import fc from 'fast-check'
import { skippedExitCode, Unavailable } from '../../scripts/real/binaries.ts'
import { type Generator, initrdGenerator } from '../../scripts/real/initrd-generator.ts'
import { fromValue, toIPText } from '../../src/ip/address.ts'
import { hasFaults, printKargs } from '../../src/kargs/print.ts'
import { readKargs } from '../../src/kargs/read.ts'
import { Sentences } from '../capi/sentences.ts'
import { byDevice, connectionsIn } from './connections.ts'
import { vectors } from './vectors.ts'

const { values } = parseArgs({ options: { seed: { type: 'string', default: '1' } } })
const madeUp = 300

/** Lines that people write by hand, and that show what is dropped. */
const byHand = [
  'ip=dhcp',
  'ip=auto6 nameserver=10.0.0.2',
  'ip=ens192:dhcp nameserver=10.0.0.2 nameserver=[2001:db8::53]',
  'ip=10.0.0.5::::::none',
  'ip=172.16.0.5::::::none',
  'ip=192.168.0.5::::::none',
  'ip=[2001:db8::5]::::::none',
  'ip=10.0.0.5:::255.0.255.0:::none',
  'ip=10.0.0.5:::24:::off',
  'ip=10.0.0.5:::99:::none',
  'ip=10.0.0.5::x:24:::none',
  'ip=10.0.0.5::[2001:db8::1]:24:::none',
  'ip=10.0.0.5::[2001:db8::1]:24:::none ip=[2001:db8::5]:::64:::none',
  'ip=10.0.0.5::10.0.0.1:24:::none ip=10.0.0.6::10.0.0.2:24:::none',
  'ip=10.0.0.5:::24:::none ip=10.0.0.5:::24:::none nameserver=10.0.0.2 nameserver=10.0.0.2',
  'ip=10.0.0.5:::24:::none ip=dhcp',
  'ip=dhcp ip=10.0.0.5:::24:::none',
  'ip=10.0.0.5:::24:::none ip=auto6',
  'ip=10.0.0.5:::24:::none nameserver=[2001:db8::53]',
  'ip=10.0.0.5:::24:::none nameserver=x',
  'ip=10.0.0.5:::24::00-50-56-aa-bb-cc:none ip=10.1.0.5:::24::ens224:none',
  'ip=x:::24:::none',
  'nameserver=10.0.0.2',
  'quiet rd.break=no',
]

const ip4 = fc.integer({ min: 0x0a000001, max: 0x0affffff }).map(value => toIPText(fromValue(4, BigInt(value))))
const ip6 = fc.bigInt({ min: 1n << 125n, max: (1n << 125n) + (1n << 96n) }).map(value => toIPText(fromValue(6, value)))
const pooled = fc.constantFrom(4 as const, 6 as const).chain(family =>
  fc.record({
    field: fc.constant('IPAddress'),
    address: family === 4 ? ip4 : ip6,
    prefix: fc.integer({ min: 1, max: family === 4 ? 32 : 128 }),
    gateway: fc.option(family === 4 ? ip4 : ip6, { nil: undefined }),
  }),
)
const nics = ['ens192', 'ens224', '00:50:56:aa:bb:01', '00:50:56:AA:BB:02']
const someDevices = fc
  .array(
    fc.record({
      poolAddresses: fc.array(pooled, { minLength: 1, maxLength: 3 }),
      nameservers: fc.array(fc.oneof(ip4, ip6), { maxLength: 3 }),
    }),
    { minLength: 1, maxLength: nics.length },
  )
  .map(all => all.map((device, i) => ({ field: `devices[${i}]`, nic: nics[i], ...device })))

function printed(devices: Parameters<typeof printKargs>[0]): string {
  const result = printKargs(devices)
  if (hasFaults(result)) throw new Error(result.faults.join('; '))
  return result.kargs
}

try {
  process.exit(await main(initrdGenerator(line => console.log(line))))
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exit(skippedExitCode)
}

async function main(generator: Generator): Promise<number> {
  const sentences = new Sentences(line => console.log(line))
  const agrees = (kargs: string) => {
    const [promised, made] = [byDevice(readKargs(kargs).connections), connectionsIn(generator.run(kargs))]
    if (isDeepStrictEqual(promised, made)) return
    throw new Error(`${kargs}\npromised: ${JSON.stringify(promised)}\nmade:     ${JSON.stringify(made)}`)
  }
  await sentences.chapter(`nm-initrd-generator ${generator.version} makes what is promised`, async () => {
    for (const { name, kargs } of vectors) await sentences.it(`where ${name}`, async () => agrees(kargs))
    for (const kargs of byHand) await sentences.it(`of ${kargs}`, async () => agrees(kargs))
    const made = fc.sample(someDevices, { numRuns: madeUp, seed: Number(values.seed) })
    for (const count of [1, 2, 3, 4]) {
      const some = made.filter(({ length }) => length === count)
      await sentences.it(`of ${some.length} that are made up, with ${count} devices`, async () => {
        for (const devices of some) agrees(printed(devices))
      })
    }
  })
  console.log(`\n${sentences.closingLine()}`)
  return sentences.failed === 0 ? 0 : 1
}
