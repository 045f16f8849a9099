// Cluster of Cluster API, of which only one thing is read: whether it is paused, in either of the two ways to say so.

import type { Malformed } from '../ip/malformed.ts'
import { hasPausedAnnotation, type Metadata, metadataOf } from './object.ts'
import { childOf, flagOf, malformedBy, shapeOf } from './shape.ts'

export interface Cluster {
  readonly metadata: Metadata
  /** By `spec.paused`, or by the annotation with any value. */
  readonly isPaused: boolean
}

export function parseCluster(object: unknown): Cluster | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const isPaused = flagOf(childOf(root, 'spec'), 'paused') || hasPausedAnnotation(metadata)
  return faults.length > 0 ? malformedBy(faults) : { metadata, isPaused }
}
