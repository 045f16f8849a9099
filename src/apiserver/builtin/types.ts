// The schemas of the built-in kinds, exactly as Kubernetes publishes them, plus the hints of `schema.ts` that are never
// published. The tables are printed by `scripts/builtin-types` and read as a file beside this one, because importing
// JSON still prints a warning on the oldest Node we run on.

import { readFileSync } from 'node:fs'
import type { Definitions, Schema } from '../schema/schema.ts'

export const builtinDefinitions: Definitions = JSON.parse(
  readFileSync(new URL('./types.json', import.meta.url), 'utf8'),
) as Definitions

export function builtinSchema(name: string): Schema {
  const schema = builtinDefinitions[name]
  if (schema === undefined) throw new Error(`no built-in type is called ${name}`)
  return schema
}
