// Kinds change while requests are under way. A write is made under the definition that is in force when it takes its
// revision, or not at all: one that was checked against an earlier form of its kind starts over.

import type { Call, World } from '../call.ts'

export class KindChanged extends Error {
  override readonly name = 'KindChanged'
}

/** Asked in the same synchronous step as the write itself. */
export function refuseChangedKind({ resource }: Call, { registry }: World): void {
  if (registry.find(resource.group, resource.plural) !== resource) throw new KindChanged()
}
