// From a kind to what is particular about it.

import type { Behaviour } from '../kinds/kind.ts'
import type { Schema } from '../schema/schema.ts'

const behaviours: Readonly<Record<string, Behaviour>> = {}

export function builtinBehaviour(group: string, _version: string, kind: string, _schema: Schema): Behaviour {
  return behaviours[`${group}/${kind}`] ?? {}
}
