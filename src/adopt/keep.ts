// Translated pools, written. To a pool that is there already, only addresses to keep are added: what it keeps, and everything
// else about it, may have been changed by users since. One that offers none of the same addresses is another pool that
// happens to have the name, and is not touched.

import { parseAddressPool } from '../api/address-pool.ts'
import { toPool } from '../api/to-pool.ts'
import { pools as poolKinds } from '../controllers/office/kinds.ts'
import { isMalformed } from '../ip/malformed.ts'
import { overlapsSet } from '../ip/range-set.ts'
import type { Client } from '../kube/client.ts'
import { refOf } from '../kube/object.ts'
import type { AddressPoolObject } from './metal3-translation.ts'

export type Written = 'created' | 'changed' | 'unchanged' | 'another'

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
  if (!offersSome(found, pool)) return 'another'
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

function offersSome(found: object, wanted: AddressPoolObject): boolean {
  const [one, other] = [toPool(found), toPool(wanted)]
  if (isMalformed(one) || isMalformed(other) || one.family !== other.family) return false
  return overlapsSet(one.addresses, other.addresses)
}
