// What answers to CNI calls are made from: what the node sees of the API, what it keeps on its disk, one client.

import { type IPAMClaim, parseIPAMClaim } from '../api/ipam-claim.ts'
import { type LauncherPod, parseLauncherPod } from '../api/launcher-pod.ts'
import { mirrorAnnotation } from '../api/names.ts'
import { isParsed, type Parsed } from '../api/object.ts'
import { isRecord, ownText } from '../api/shape.ts'
import { readable, reader } from '../controllers/office/kept.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { Cache } from '../kube/cache.ts'
import type { Client } from '../kube/client.ts'
import type { KubeObject } from '../kube/object.ts'
import { parseAttachment, type Attachment as ReadAttachment } from '../networks/attachment.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../telemetry/log.ts'
import type { State } from './state.ts'

export interface Pod extends LauncherPod {
  /** Of a static pod: the uid by which the runtime knows it. */
  readonly mirrored: string | undefined
}

function parsePod(object: unknown, readMetadata?: Parameters<typeof parseLauncherPod>[1]): Parsed<Pod> | Malformed {
  const pod = parseLauncherPod(object, readMetadata)
  if (isMalformed(pod)) return pod
  const metadata = isRecord(object) && isRecord(object.metadata) ? object.metadata : {}
  const annotations = isRecord(metadata.annotations) ? metadata.annotations : {}
  return { ...pod, [isParsed]: true, mirrored: ownText(annotations as Record<string, string>, mirrorAnnotation) }
}

const podReader = reader<Pod>(parsePod)
const claimReader = reader<IPAMClaim>(parseIPAMClaim)
const attachmentReader = reader<ReadAttachment>(parseAttachment)
export const podOf = podReader.of
export const claimOf = claimReader.of
export const attachmentOf = attachmentReader.of

export interface NodeCaches {
  /** Of this node. By uid. */
  readonly pods: Cache<KubeObject, 'uid'>
  readonly attachments: Cache<KubeObject>
  /** Those that this node made. By uid of the pod. */
  readonly claims: Cache<KubeObject, 'pod'>
}

export function createNodeCaches(): NodeCaches {
  return {
    pods: new Cache<KubeObject, 'uid'>({
      keep: podReader.keep,
      indexes: { uid: ({ metadata }) => [metadata.uid ?? ''] },
    }),
    attachments: new Cache<KubeObject>({ keep: attachmentReader.keep }),
    claims: new Cache<KubeObject, 'pod'>({
      keep: claimReader.keep,
      indexes: { pod: object => (readable(object, claimOf)?.metadata.ownerReferences ?? []).map(({ uid }) => uid) },
    }),
  }
}

export interface NodeWorld {
  readonly node: string
  readonly client: Client
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly caches: NodeCaches
  readonly state: State
  /** Interfaces whose ADD waits, as uid and name: what would be prepared for one, its ADD finds out itself. */
  readonly asked: Set<string>
  /** Claims on their way to the API server, by key: an ADD that comes meanwhile waits for the same answer. */
  readonly making: Map<string, Promise<KubeObject | undefined>>
  /** How long an ADD waits for the address of a claim. */
  readonly waitMs: number
  /** Why nothing new can be given now, in a sentence; undefined while all is well. */
  problem(): string | undefined
  /** Whether the network namespace of a sandbox is there. */
  hasNetns(path: string): boolean
  /** The claim, or the pod's claims, are to be looked at again: a sandbox has gone. */
  detached(podUID: string): void
}
