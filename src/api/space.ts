// The scope that the holds of one space have in their names. It has to be legal in a name, it has to be the same for
// everybody who computes it, and two spaces may never share one, for then two addresses that have nothing to do with each
// other would lock each other out.
//
//   spec.space: blue                       -> blue                              one label, so it has no dot
//   InClusterIPPool default/vms            -> vms.default.inclusterippool       ends in a kind
//   GlobalInClusterIPPool vms              -> vms.globalinclusterippool
//   a pool whose name is too long for it   -> <64 hexadecimal digits, dotted>.digest
//
// A namespace has no dot, so the texts of the second and third form can be taken apart again from behind; `digest` is no
// kind. A pool that names no space is a space of its own: pools of one name in two namespaces are strangers.

import { createHash } from 'node:crypto'
import { isScope } from '../ip/object-name.ts'
import { type Identity, identityKey } from './object.ts'

/** Whether people may give a space this name. */
export const isSpaceName = (text: string): boolean => !text.includes('.') && isScope(text)

export function spaceOfPool(pool: Identity): string {
  const kind = pool.kind.toLowerCase()
  const scope = pool.namespace === '' ? `${pool.name}.${kind}` : `${pool.name}.${pool.namespace}.${kind}`
  if (isScope(scope)) return scope
  const digest = createHash('sha256').update(identityKey(pool)).digest('hex')
  return `${digest.slice(0, 32)}.${digest.slice(32)}.digest`
}
