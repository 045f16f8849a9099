// Translated pools, written. A pool that is there already is only ever told to keep more: what it keeps, and everything
// else about it, may have been changed by people since.

import { parseAddressPool } from '../api/address-pool.ts'
import { pools as poolKinds } from '../controllers/kinds.ts'
import { isMalformed } from '../ip/malformed.ts'
import type { Client } from '../kube/client.ts'
import { refOf } from '../kube/object.ts'
import type { AddressPoolObject } from './metal3-translation.ts'

export type Written = 'created' | 'changed' | 'unchanged'

export async function keepAddresses(client: Client, pool: AddressPoolObject): Promise<Written> {
  const kind = poolKinds.find(one => one.kind === pool.kind)
  if (kind === undefined) throw new TypeError(`${pool.kind} is no kind of pool`)
  const ref = refOf(pool)
  const found = await client.get(kind, ref)
  if (found === undefined) {
    await client.create(kind, pool)
    return 'created'
  }
  const known = parseAddressPool(found)
  if (isMalformed(known)) throw new TypeError(`${pool.kind} ${ref.namespace}/${ref.name}: ${known.malformed}`)
  const { preAllocations = {}, excludedAddresses = [] } = pool.spec
  const newNames = Object.entries(preAllocations).filter(([name]) => !Object.hasOwn(known.spec.preAllocations, name))
  const newExcluded = excludedAddresses.filter(text => !known.spec.excludedAddresses.includes(text))
  if (newNames.length === 0 && newExcluded.length === 0) return 'unchanged'
  const spec = {
    ...(newNames.length > 0 && { preAllocations: Object.fromEntries(newNames) }),
    ...(newExcluded.length > 0 && { excludedAddresses: [...known.spec.excludedAddresses, ...newExcluded] }),
  }
  const { uid, resourceVersion } = known.metadata
  await client.mergePatch(kind, ref, { spec }, { uid, resourceVersion })
  return 'changed'
}
