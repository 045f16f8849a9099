// Many addresses that are held already, in the time that a few take: what a provider stored for one claim is read from etcd
// and written there again under other names, uids and addresses. It is what the provider itself would have stored, fields of
// managers included, so it finds nothing to do about it.

import { randomUUID } from 'node:crypto'
import { request } from 'undici'

export interface Row {
  readonly key: string
  readonly value: string
}

export interface Sample {
  /** What was stored for one claim. */
  readonly rows: readonly Row[]
  readonly claim: string
  readonly claimUid: string
  /** IPv4. */
  readonly address: string
}

/** etcd takes at most 128 in one transaction. */
const putsPerTransaction = 120
const transactionsAtOnce = 4

export async function readRow(etcdURL: string, key: string): Promise<Row> {
  const { kvs } = await post<{ kvs?: { value: string }[] }>(etcdURL, '/v3/kv/range', { key: toBase64(key) })
  const value = kvs?.[0]?.value
  if (value === undefined) throw new Error(`etcd has nothing at ${key}`)
  return { key, value: Buffer.from(value, 'base64').toString('utf8') }
}

/** Writes `count` copies; `nameOf` and `addressOf` are asked by index. */
export async function writeCopies(
  etcdURL: string,
  sample: Sample,
  count: number,
  nameOf: (index: number) => string,
  addressOf: (index: number) => string,
): Promise<void> {
  let next = 0
  const perTransaction = Math.floor(putsPerTransaction / sample.rows.length)
  const work = async (): Promise<void> => {
    while (next < count) {
      const from = next
      next = Math.min(count, from + perTransaction)
      const rows: Row[] = []
      for (let i = from; i < next; i++) rows.push(...copyOf(sample, nameOf(i), addressOf(i)))
      const success = rows.map(({ key, value }) => ({
        requestPut: { key: toBase64(key), value: toBase64(value) },
      }))
      const { succeeded } = await post<{ succeeded?: boolean }>(etcdURL, '/v3/kv/txn', { success })
      if (succeeded !== true) throw new Error('etcd did not take a transaction')
    }
  }
  await Promise.all(Array.from({ length: transactionsAtOnce }, work))
}

function copyOf(sample: Sample, claim: string, address: string): Row[] {
  const claimUid = randomUUID()
  const renamed = (text: string): string =>
    text
      .replaceAll(sample.claim, claim)
      .replaceAll(sample.claimUid, claimUid)
      .replaceAll(wholeAddress(sample.address), address)
      .replaceAll(wholeAddress(sample.address.replaceAll('.', '-')), address.replaceAll('.', '-'))
  return sample.rows.map(({ key, value }) => {
    const ownUid = uidIn(value)
    const text = ownUid === sample.claimUid ? value : value.replaceAll(ownUid, randomUUID())
    return { key: renamed(key), value: renamed(text) }
  })
}

/** Not as the beginning of a longer one. */
const wholeAddress = (address: string): RegExp => new RegExp(`${address.replaceAll('.', '\\.')}(?!\\d)`, 'g')

const uidIn = (value: string): string => (JSON.parse(value) as { metadata: { uid: string } }).metadata.uid

const toBase64 = (text: string): string => Buffer.from(text).toString('base64')

async function post<T>(etcdURL: string, path: string, body: object): Promise<T> {
  const answer = await request(etcdURL + path, { method: 'POST', body: JSON.stringify(body) })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`etcd answered ${answer.statusCode}: ${text}`)
  return JSON.parse(text) as T
}
