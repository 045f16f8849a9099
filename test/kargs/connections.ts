// The connections that NetworkManager's generator prints, in the form in which `readKargs` promises them.

import type { Connection, FamilyConfig } from '../../src/kargs/read.ts'

/** Sorted by device: the generator has an order of its own. */
export function connectionsIn(printed: string): Connection[] {
  const blocks = printed.split(/^\*\*\* /m).filter(block => block.startsWith('Connection '))
  return byDevice(blocks.map(toConnection))
}

export const byDevice = (connections: readonly Connection[]): Connection[] =>
  connections.toSorted((one, other) => ((one.nic ?? '') < (other.nic ?? '') ? -1 : 1))

function toConnection(block: string): Connection {
  const values = new Map<string, string>()
  let section = ''
  for (const line of block.split('\n')) {
    const header = /^\[(.+)\]$/.exec(line)
    if (header !== null) section = header[1] ?? ''
    const equals = line.indexOf('=')
    if (header === null && equals > 0) values.set(`${section}.${line.slice(0, equals)}`, line.slice(equals + 1))
  }
  const nic = values.get('connection.interface-name') ?? values.get('ethernet.mac-address')?.toLowerCase()
  return { nic, ipv4: toFamily(values, 'ipv4'), ipv6: toFamily(values, 'ipv6') }
}

function toFamily(values: ReadonlyMap<string, string>, section: string): FamilyConfig {
  const addresses: string[] = []
  let gateway = values.get(`${section}.gateway`)
  for (let i = 1; values.has(`${section}.address${i}`); i++) {
    const [address = '', router] = values.get(`${section}.address${i}`)?.split(',') ?? []
    addresses.push(address)
    gateway ??= router
  }
  const method = values.get(`${section}.method`)
  return {
    method: method as FamilyConfig['method'],
    addresses,
    gateway: gateway as FamilyConfig['gateway'],
    nameservers: (values.get(`${section}.dns`) ?? '').split(';').filter(one => one !== '') as never,
  }
}
