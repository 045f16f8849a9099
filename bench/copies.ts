// Many claims that are bound already, in the time that a few take: what the controllers stored for one claim is read from the store
// of a server that does not run, and written there again under other names, uids and addresses. They find nothing to do about it.

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { holdName } from '../src/api/hold.ts'
import { fromValue, type IP, parseIP, toIPText, toValue } from '../src/ip/address.ts'
import { isMalformed } from '../src/ip/malformed.ts'
import { openStore } from '../src/store/lmdb.ts'

export interface BoundClaim {
  readonly name: string
  readonly space: string
  /** The next ones are those of the copies. */
  readonly ips: readonly string[]
}

const writesAtOnce = 2_000

/** `dir` is the one of `startEmbedded`. The names of the copies end in their numbers, from 1 on. */
export async function writeCopies(dir: string, { name, space, ips }: BoundClaim, count: number): Promise<void> {
  const store = await openStore(join(dir, 'data', 'store'))
  const addresses = ips.map(toIP)
  const holdNames = addresses.map(ip => holdName(space, ip))
  const sample = store
    .list('')
    .entries.filter(
      ({ key }) => key.endsWith(`/ipamclaims/${space}/${name}`) || holdNames.some(one => key.endsWith(`/${one}`)),
    )
  if (sample.length !== 1 + ips.length) throw new Error(`${sample.length} objects are stored for one claim`)
  const rows = sample.map(({ key, value }) => ({ key, text: value.toString('utf8') }))
  const uids = rows.map(({ text }) => (JSON.parse(text) as { metadata: { uid: string } }).metadata.uid)
  let writes: Promise<unknown>[] = []
  for (let i = 1; i <= count; i++) {
    const nexts = addresses.map(ip => fromValue(ip.family, toValue(ip) + BigInt(i)))
    const changes: [string, string][] = [
      ...holdNames.map((one, n): [string, string] => [one, holdName(space, nexts[n] as IP)]),
      ...addresses.map((ip, n): [string, string] => [toIPText(ip), toIPText(nexts[n] as IP)]),
      ...uids.map((uid): [string, string] => [uid, randomUUID()]),
      [name, `${name}-${i}`],
    ]
    const changed = (text: string): string => changes.reduce((done, [from, to]) => done.replaceAll(from, to), text)
    for (const { key, text } of rows) {
      const copy = changed(text)
      const encode = (revision: number) =>
        Buffer.from(copy.replace(/"resourceVersion":"\d+"/, `"resourceVersion":"${revision}"`))
      writes.push(store.create(changed(key), encode))
    }
    if (writes.length < writesAtOnce && i < count) continue
    await Promise.all(writes)
    writes = []
  }
  await store.close()
}

function toIP(text: string): IP {
  const ip = parseIP(text.split('/')[0] ?? '')
  if (isMalformed(ip)) throw new Error(ip.malformed)
  return ip
}
