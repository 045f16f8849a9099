// Whether it is the time for a change of the migration network. It restarts virt-handler everywhere, so none begins while a migration runs, nor
// while the last one is still under way. The way back to the management network is always open.

import { notNow, type Ruling, refused } from '../../../admission/ruling.ts'
import { rolloutAnnotation } from '../../../api/names.ts'
import { isRecord } from '../../../api/shape.ts'
import { attachmentName } from '../../../migration/attachment.ts'
import { migratingIn } from '../../../migration/cluster.ts'
import type { ReadWanted } from '../../../migration/wanted.ts'
import type { MigrationFacts } from '../facts.ts'

export interface Change {
  /** The object before; undefined on create. */
  readonly old: unknown
  readonly before: ReadWanted
  readonly after: ReadWanted
}

/** Undefined where it is. */
export function whyNotNow({ old, before, after }: Change, facts: MigrationFacts): Ruling | undefined {
  if (after === 'default' || 'problems' in after) return undefined
  const was = before === 'default' || 'problems' in before ? undefined : before.wanted
  // In other words, the same: nothing restarts.
  if (was?.hash === after.wanted.hash) return undefined
  if (isRollingOut(old)) {
    const why = 'the last change of the migration network is still under way'
    return notNow(`${why}: wait until its condition configured is True, or reset it first`)
  }
  if (was !== undefined && attachmentName(was) === attachmentName(after.wanted)) return undefined
  const migrating = migratingIn(facts.caches.migrations.values())
  if (migrating.length === 0) return undefined
  const named = migrating.slice(0, namedMax).join(', ')
  const more = migrating.length > namedMax ? ` and ${migrating.length - namedMax} more` : ''
  return refused(
    `virtual machines are migrating, and the change would restart what they go through: wait for ${named}${more}`,
  )
}

const namedMax = 10

function isRollingOut(object: unknown): boolean {
  const metadata = isRecord(object) ? object.metadata : undefined
  const annotations = isRecord(metadata) ? metadata.annotations : undefined
  return isRecord(annotations) && Object.hasOwn(annotations, rolloutAnnotation)
}
