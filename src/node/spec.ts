// The Container Network Interface, as far as an IPAM plugin has to do with it: versions 0.3.1 to 1.1.0, their verbs, results and
// errors. Pure.

import type { DNS, Route } from '../networks/mooring-config.ts'

export const versions = ['0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const
export type Version = (typeof versions)[number]

export const verbs = ['ADD', 'DEL', 'CHECK', 'GC', 'STATUS', 'VERSION'] as const
export type Verb = (typeof verbs)[number]

/** The version that brought a verb; those that are not here were always there. */
const verbSince: Readonly<Partial<Record<Verb, Version>>> = { CHECK: '0.4.0', GC: '1.1.0', STATUS: '1.1.0' }

export const hasVerb = (version: Version, verb: Verb): boolean =>
  versions.indexOf(version) >= versions.indexOf(verbSince[verb] ?? versions[0])

/** Below 100 they are the specification's; what lies above is for each plugin to say. */
export const codes = {
  incompatibleVersion: 1,
  /** The container, or what is asked about it, is not known. */
  unknownContainer: 3,
  environment: 4,
  io: 5,
  undecodable: 6,
  network: 7,
  tryAgainLater: 11,
  /** Of STATUS: nothing can be added now. */
  notAvailable: 50,
  /** The pod may not have what it asks for, by what administrators and the owner of the claim wrote. */
  refused: 100,
  /** A fault of ours. */
  internal: 999,
} as const

export type CNICode = (typeof codes)[keyof typeof codes]

/** An answer that is an error. `details` is for people: what is in the way, and what to do about it. */
export class CNIError extends Error {
  override readonly name = 'CNIError'
  readonly code: CNICode
  readonly details: string

  constructor(code: CNICode, message: string, details = '', options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
  }
}

/** Longer sentences are cut: runtimes put them into events, which have a bound. */
const textCharsMax = 1_024

export const toErrorText = (version: string, { code, message, details }: CNIError): string =>
  JSON.stringify({
    cniVersion: version,
    code,
    msg: message.slice(0, textCharsMax),
    ...(details !== '' && { details: details.slice(0, textCharsMax) }),
  })

/** What an interface is given. */
export interface Given {
  /** In the order of families. */
  readonly ips: readonly GivenIP[]
  readonly routes: readonly Route[]
  readonly dns: DNS
}

export interface GivenIP {
  /** With the length of its subnet. */
  readonly address: string
  readonly gateway?: string
}

/** The success of a delegated IPAM plugin: it knows of no interfaces. */
export function toResultText(version: Version, { ips, routes, dns }: Given): string {
  const hasFamily = version === '0.3.1' || version === '0.4.0'
  return JSON.stringify({
    cniVersion: version,
    ips: ips.map(({ address, gateway }) => ({
      ...(hasFamily && { version: address.includes(':') ? '6' : '4' }),
      address,
      ...(gateway !== undefined && { gateway }),
    })),
    ...(routes.length > 0 && { routes: version === '1.1.0' ? routes : routes.map(plainRoute) }),
    dns,
  })
}

/** Before 1.1 a route was where it leads and by which way. */
const plainRoute = ({ dst, gw }: Route): Route => ({ dst, ...(gw !== undefined && { gw }) })

export const toVersionText = (asked: string): string =>
  JSON.stringify({ cniVersion: asked === '' ? versions.at(-1) : asked, supportedVersions: versions })
