// Which claims a desk serves, where its flags name only some. What it does not serve it still counts: an address is taken by its
// hold, holds have no namespace and are all in the cache, and the API server refuses every second hold of the same name. So two
// desks with different scopes share pools and spaces safely. An address that another provider gave has an IPAddress and no hold: with
// `--watch-filter` it is counted, since all IPAddresses are in the cache; with `--namespace` it is not, where it is of another namespace.
//
// A claim out of scope is left alone, never taken for gone: nothing is written to it, and its holds are no strays.

import { watchFilterLabel } from '../../api/names.ts'
import type { KubeObject } from '../../kube/object.ts'

export interface Scope {
  /** Only claims and pools of this namespace; empty for all. */
  readonly namespace: string
  /** Only claims whose label has this value; empty for all. */
  readonly watchFilter: string
}

export const everything: Scope = { namespace: '', watchFilter: '' }

export function isInScope({ namespace, watchFilter }: Scope, { metadata }: KubeObject): boolean {
  if (namespace !== '' && metadata.namespace !== namespace) return false
  return watchFilter === '' || metadata.labels?.[watchFilterLabel] === watchFilter
}

/** Whether claims of this namespace are in the cache. */
export function isInView({ namespace }: Scope, ofClaim: string): boolean {
  return namespace === '' || ofClaim === namespace
}
