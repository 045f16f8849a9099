import { isIP } from 'node:net'
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

function notHostPort(flag: string, text: string): Failure {
  return new Failure(
    exitCodes.usage,
    `${flag} is ${JSON.stringify(text)}, which is not HOST:PORT`,
    `Write an address and a port from 0 to 65535, as in ${flag} 127.0.0.1:7443.`,
  )
}
