// How fast addresses are read, printed and placed, beside two libraries that also validate what they read. All contenders
// of a task take turns in short slices within one run, so a busy machine slows all of them alike and the ratios stay
// honest. Run alone: node --import tsx bench/ip.ts

import { Address4, Address6 } from 'ip-address'
import ipaddr from 'ipaddr.js'
import { type IP, parseIP, toIPText } from '../src/ip/address.ts'
import { containsIP, parseCIDR } from '../src/ip/cidr.ts'
import { orThrow } from '../test/harness/or-throw.ts'

export interface Row {
  readonly task: string
  readonly library: string
  readonly opsPerSecond: number
  /** How many times as fast as this library Mooring is; 1 for Mooring itself. */
  readonly mooringIsFaster: number
}

interface Contender {
  readonly library: string
  /** Does the task once for every input and returns something that depends on each, so that no work can be left out. */
  readonly pass: () => number
}

interface Task {
  readonly name: string
  readonly contenders: readonly Contender[]
}

const inputs = 1024
const sliceMs = 20
const slices = 25
const warmUpSlices = 3

const texts4 = Array.from(
  { length: inputs },
  (_, i) => `${10 + (i % 200)}.${i % 256}.${(i * 7) % 256}.${(i * 13) % 256}`,
)
const texts6 = Array.from({ length: inputs }, (_, i) => {
  const hex = (n: number): string => (n & 0xffff).toString(16)
  if (i % 3 === 0) return `2001:db8:${hex(i)}::${hex(i * 7 + 1)}`
  if (i % 3 === 1) return `fd00:${hex(i + 1)}:1:${hex(i * 5 + 1)}:2:3:4:${hex(i * 9 + 1)}`
  return `fe80::${hex(i + 1)}:aff:fe00:${hex(i * 3 + 1)}`
})

const contender = <T>(library: string, all: readonly T[], once: (input: T) => number): Contender => ({
  library,
  pass() {
    let sum = 0
    for (const input of all) sum += once(input)
    return sum
  },
})

function tasks(): Task[] {
  const ours4 = texts4.map(text => orThrow(parseIP(text)))
  const ours6 = texts6.map(text => orThrow(parseIP(text)))
  const ipaddr4 = texts4.map(text => ipaddr.IPv4.parse(text))
  const ipaddr6 = texts6.map(text => ipaddr.IPv6.parse(text))
  const address4 = texts4.map(text => new Address4(text))
  const address6 = texts6.map(text => new Address6(text))
  const network4 = orThrow(parseCIDR('10.0.0.0/9'))
  const network6 = orThrow(parseCIDR('2001:db8::/33'))
  const ipaddrNetwork4 = ipaddr.IPv4.parseCIDR('10.0.0.0/9')
  const ipaddrNetwork6 = ipaddr.IPv6.parseCIDR('2001:db8::/33')
  const addressNetwork4 = new Address4('10.0.0.0/9')
  const addressNetwork6 = new Address6('2001:db8::/33')
  const parseOurs = (text: string): number => {
    const ip = parseIP(text) as IP
    return ip.w3 & 1
  }
  return [
    {
      name: 'parse IPv4',
      contenders: [
        contender('mooring', texts4, parseOurs),
        contender('ipaddr.js', texts4, text => ipaddr.parse(text).kind().length),
        contender('ip-address', texts4, text => new Address4(text).parsedAddress.length),
      ],
    },
    {
      name: 'parse IPv6',
      contenders: [
        contender('mooring', texts6, parseOurs),
        contender('ipaddr.js', texts6, text => ipaddr.parse(text).kind().length),
        contender('ip-address', texts6, text => new Address6(text).parsedAddress.length),
      ],
    },
    // A character is read from each text, since the engine may put off joining its pieces until one is read.
    {
      name: 'print IPv4',
      contenders: [
        contender('mooring', ours4, ip => toIPText(ip).charCodeAt(1)),
        contender('ipaddr.js', ipaddr4, ip => ip.toString().charCodeAt(1)),
        contender('ip-address', address4, ip => ip.correctForm().charCodeAt(1)),
      ],
    },
    {
      name: 'print IPv6',
      contenders: [
        contender('mooring', ours6, ip => toIPText(ip).charCodeAt(1)),
        contender('ipaddr.js', ipaddr6, ip => ip.toRFC5952String().charCodeAt(1)),
        contender('ip-address', address6, ip => ip.correctForm().charCodeAt(1)),
      ],
    },
    {
      name: 'is IPv4 in network',
      contenders: [
        contender('mooring', ours4, ip => (containsIP(network4, ip) ? 1 : 0)),
        contender('ipaddr.js', ipaddr4, ip => (ip.match(ipaddrNetwork4) ? 1 : 0)),
        contender('ip-address', address4, ip => (ip.isInSubnet(addressNetwork4) ? 1 : 0)),
      ],
    },
    {
      name: 'is IPv6 in network',
      contenders: [
        contender('mooring', ours6, ip => (containsIP(network6, ip) ? 1 : 0)),
        contender('ipaddr.js', ipaddr6, ip => (ip.match(ipaddrNetwork6) ? 1 : 0)),
        contender('ip-address', address6, ip => (ip.isInSubnet(addressNetwork6) ? 1 : 0)),
      ],
    },
  ]
}

/** The median over all slices of each contender, in operations per second. */
function measure({ contenders }: Task): number[] {
  const rates = contenders.map((): number[] => [])
  let checksum = 0
  for (let slice = -warmUpSlices; slice < slices; slice++) {
    for (const [i, { pass }] of contenders.entries()) {
      const start = performance.now()
      let done = 0
      let elapsed = 0
      while (elapsed < sliceMs) {
        checksum += pass()
        done += inputs
        elapsed = performance.now() - start
      }
      if (slice >= 0) rates[i]?.push((done / elapsed) * 1000)
    }
  }
  if (Number.isNaN(checksum)) throw new Error('a contender gave no answers')
  return rates.map(median)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >>> 1] ?? 0
}

/** Async like every benchmark, and it lets go of the process between tasks. */
export async function benchIP(): Promise<Row[]> {
  const rows: Row[] = []
  for (const task of tasks()) {
    await new Promise(resolve => setImmediate(resolve))
    const rates = measure(task)
    const ours = rates[0] ?? 0
    for (const [i, { library }] of task.contenders.entries()) {
      const opsPerSecond = rates[i] ?? 0
      rows.push({ task: task.name, library, opsPerSecond, mooringIsFaster: ours / opsPerSecond })
    }
  }
  return rows
}

export function toTable(rows: readonly Row[]): string {
  const lines = rows.map(({ task, library, opsPerSecond, mooringIsFaster }) => {
    const millions = `${(opsPerSecond / 1e6).toFixed(2)} M/s`
    const ratio = library === 'mooring' ? '' : `mooring is ${mooringIsFaster.toFixed(1)}x as fast`
    return `${task.padEnd(20)} ${library.padEnd(12)} ${millions.padStart(12)}  ${ratio}`.trimEnd()
  })
  return lines.join('\n')
}

if (process.argv[1] === import.meta.filename) {
  process.stdout.write(`${toTable(await benchIP())}\n`)
}
