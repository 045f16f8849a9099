// What a card has before anything is known of it, and what holds for the cards of every source.

import type { SourceFile, SourceKind, SourceNIC, SourceNote, SourceOrigin } from './machine.ts'

export const bareNIC: Omit<SourceNIC, 'key'> = {
  startConnected: true,
  ips: [],
  gateways: [],
  routes: [],
  dns: [],
  searchDomains: [],
}

export function originOf(kind: SourceKind, { name, writtenAt }: SourceFile): SourceOrigin {
  return { kind, from: name, ...(writtenAt !== undefined && { asOf: writtenAt }) }
}

/** Of those cards that have none. */
export function missingMACs(nics: readonly SourceNIC[], why: string): SourceNote[] {
  return nics.flatMap(({ key, mac }) => (mac === undefined ? [{ reason: 'MACMissing', nic: key, message: why }] : []))
}

/** What is told apart by keys has different ones, also where a file has lost or repeated them. */
export function withOwnKeys<T extends { readonly key: string }>(items: readonly T[]): readonly T[] {
  const keys = new Set(items.map(({ key }) => key))
  const isWhole = keys.size === items.length && !keys.has('')
  return isWhole ? items : items.map((item, index) => ({ ...item, key: `nic${index}` }))
}
