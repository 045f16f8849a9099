// Cluster of Cluster API, of which only one thing is read: whether it is paused, in either of the two ways to say so.

import type { Malformed } from '../ip/malformed.ts'
import { hasPausedAnnotation, isParsed, type Metadata, metadataOf, type Parsed } from './object.ts'
import { shared } from './repeated.ts'
import { childOf, flagOf, malformedBy, shapeOf, textOf } from './shape.ts'

export interface Cluster {
  readonly metadata: Metadata
  /** By `spec.paused`, or by the annotation with any value. */
  readonly isPaused: boolean
}

export function parseCluster(object: unknown, readMetadata = metadataOf): Parsed<Cluster> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const [apiVersion, kind] = [shared(textOf(root, 'apiVersion') ?? ''), shared(textOf(root, 'kind') ?? '')]
  const metadata = readMetadata(childOf(root, 'metadata'))
  const isPaused = flagOf(childOf(root, 'spec'), 'paused') || hasPausedAnnotation(metadata)
  return faults.length > 0 ? malformedBy(faults) : { [isParsed]: true, apiVersion, kind, metadata, isPaused }
}
