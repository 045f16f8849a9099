// How long it takes to judge the value of a migration network, from its text to the number of addresses, whatever its size. Run alone:
// node --import tsx bench/migration.ts

import { countUsable } from '../src/migration/range.ts'
import { readSettingValue } from '../src/migration/wanted.ts'

const rounds = 2_000

const values: Readonly<Record<string, object>> = {
  'a /30': { range: '10.1.2.0/30' },
  'a /24 with 2 exclusions': { range: '10.1.2.0/24', exclude: ['10.1.2.0/28', '10.1.2.254/32'] },
  'a /16': { range: '10.1.0.0/16' },
  'a /16 with 128 exclusions': {
    range: '10.1.0.0/16',
    exclude: Array.from({ length: 128 }, (_, i) => `10.1.${i * 2}.0/25`),
  },
  'a /16 and a /64 of IPv6': {
    range: '10.1.0.0/16',
    rangeV6: 'fd00::/64',
    rangeV6Start: 'fd00::1',
    rangeV6End: 'fd00::ffff:ffff:ffff:fffe',
  },
}

for (const [name, value] of Object.entries(values)) {
  const text = JSON.stringify({ clusterNetwork: 'migration', vlan: 100, ...value })
  const times: number[] = []
  let count = 0n
  for (let i = 0; i < rounds; i++) {
    const start = performance.now()
    const read = readSettingValue(text)
    if (read !== 'default' && 'wanted' in read) count = countUsable(read.wanted.ranges)
    times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => `${((times[Math.floor(times.length * share)] ?? 0) * 1_000).toFixed(0)} µs`
  console.log(`${name.padEnd(28)} ${`${count}`.padStart(22)} addresses   median ${at(0.5)}, 99 % ${at(0.99)}`)
}
