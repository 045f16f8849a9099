// Addresses to listen on, as flags write them.

import { BlockList, isIP } from 'node:net'
import { exitCodes, Failure } from './failure.ts'

export interface HostPort {
  readonly host: string
  readonly port: number
  readonly isIP: boolean
}

/** `127.0.0.1:7443`, `[::1]:7443`, `localhost:0`. */
export function parseHostPort(flag: string, text: string): HostPort {
  const address = parseBindAddress(flag, text)
  if (address.host === '') throw notHostPort(flag, text)
  return address
}

/** As above, and `:8081` for every address of the machine, as manifests of pods write it. The host is empty then. */
export function parseBindAddress(flag: string, text: string): HostPort {
  const colon = text.lastIndexOf(':')
  const host = text.slice(0, Math.max(colon, 0)).replace(/^\[(.*)\]$/, '$1')
  const portText = text.slice(colon + 1)
  const port = Number(portText)
  if (colon < 0 || !/^\d+$/.test(portText) || port > 65_535) throw notHostPort(flag, text)
  return { host, port, isIP: isIP(host) !== 0 }
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Only programs of this machine reach it. Of names this can be said of `localhost` alone. */
export function isLoopback(host: string): boolean {
  const version = isIP(host)
  return version === 0 ? host === 'localhost' : loopback.check(host, version === 4 ? 'ipv4' : 'ipv6')
}

/** Two servers cannot listen on both. Port 0 is another one each time. */
export function isSamePort(one: HostPort, other: HostPort): boolean {
  const isSameHost = one.host === other.host || [one.host, other.host].some(host => host === '0.0.0.0' || host === '::')
  return one.port === other.port && one.port !== 0 && isSameHost
}

function notHostPort(flag: string, text: string): Failure {
  return new Failure(
    exitCodes.usage,
    `${flag} is ${JSON.stringify(text)}, which is not HOST:PORT`,
    `Write an address and a port from 0 to 65535, as in ${flag} 127.0.0.1:7443.`,
  )
}
