// That nothing in the cluster has the name of a space is decided once for a pool, and stored: a cache that is behind, or empty for
// want of a permission, must not decide it. So what can have the name is read first.
//
//   the name              is looked for in
//   any                   ClusterAddressPools, NetworkAttachmentDefinitions
//   cluster_udn_NAME      ClusterUserDefinedNetworks, too
//   NAMESPACE_NAME        the UserDefinedNetwork of that name, too: its NetworkAttachmentDefinition may not be made yet

import { clusterAddressPoolKind } from '../../../api/address-pool.ts'
import { clusterUDNOfNetwork, networkNameOfClusterUDN } from '../../../api/cluster-user-defined-network.ts'
import type { Pool } from '../../../api/pool.ts'
import { parseUserDefinedNetwork, udnOfNetwork } from '../../../api/user-defined-network.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { type Refusal, spaceAnnounced, spaceUnread } from '../../../ipam/refusal.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { Cache } from '../../../kube/cache.ts'
import type { Client } from '../../../kube/client.ts'
import { type Kind, type KubeObject, nameOfKind } from '../../../kube/object.ts'
import { sharedRead } from '../../../kube/shared-read.ts'
import { networkNameOf } from '../../../networks/attachment.ts'
import { type Clock, pause } from '../../../runtime/clock.ts'
import { describeError } from '../../../telemetry/log.ts'
import { readable } from '../kept.ts'
import { attachments, clusterUserDefinedNetworks, kindAs, userDefinedNetworks } from '../kinds.ts'
import { attachmentOf, poolOf } from '../parsed.ts'
import type { Scope } from '../scope.ts'
import { poolCacheOf, type Views } from '../views.ts'

/** Between two reads of one thing, so much longer than a read takes: many new pools must not keep the API server busy. */
const restShare = 4

/** Why a pool cannot be given the space of its namespace's own yet; undefined if nothing else has the name. */
export type SpaceNamesRead = (pool: AskingPool) => Promise<Refusal | undefined>

type AskingPool = Pick<Pool, 'identity' | 'spaceAsked'>

/** A kind of which all objects that can have a name are in view. */
interface Listed {
  readonly kind: Kind
  readonly cache: Pick<Cache<KubeObject>, 'learnAll'> | undefined
  readonly nameOf: (object: KubeObject) => string | undefined
}

/**
 * The caches know, when it is answered, all objects of the name that were written before it was asked, or the answer says why they
 * do not. A kind that is not installed has no objects.
 */
export function createSpaceNamesRead(
  client: Pick<Client, 'list' | 'get'>,
  views: Pick<Views, 'pools' | 'attachments' | 'clusterUDNs'>,
  clock: Clock,
  { namespace: scope }: Pick<Scope, 'namespace'>,
): SpaceNamesRead {
  const clusterAddressPools = kindAs(clusterAddressPoolKind)
  const [ofPools, ofAttachments, ofClusterUDNs]: readonly [Listed, Listed, Listed] = [
    {
      kind: clusterAddressPools,
      cache: poolCacheOf(views, clusterAddressPools),
      nameOf: object => readable(object, poolOf)?.space,
    },
    {
      kind: attachments,
      cache: views.attachments,
      nameOf: object => {
        const attachment = readable(object, attachmentOf)
        return attachment && networkNameOf(attachment)
      },
    },
    {
      kind: clusterUserDefinedNetworks,
      cache: views.clusterUDNs,
      nameOf: ({ metadata }) => networkNameOfClusterUDN(metadata.name ?? ''),
    },
  ]
  const all = new Map([ofPools, ofAttachments, ofClusterUDNs].map(one => [nameOfKind(one.kind), one]))
  const rest = ({ tookMs }: { readonly tookMs: number }) =>
    tookMs === 0 ? undefined : pause(clock, tookMs * restShare)
  /** What of a kind is there and not in view, by the names it has; or why the kind cannot be read. */
  const learn = async ({ kind, cache, nameOf }: Listed): Promise<ReadonlySet<string | undefined> | string> => {
    try {
      const place = kind.namespaced && scope !== '' ? { namespace: scope } : {}
      const { items, resourceVersion } = await client.list(kind, place)
      return new Set(cache?.learnAll(items, resourceVersion).map(nameOf))
    } catch (error) {
      return isApiError(error, 'NotInstalled') ? new Set() : describeError(error)
    }
  }
  const read = sharedRead(async (name: string) => {
    const startMs = clock.monotonicMs()
    const listed = all.get(name)
    const answer = listed === undefined ? new Set<string>() : await learn(listed)
    return { answer, tookMs: clock.monotonicMs() - startMs }
  }, rest)
  const whyUnread = async ({ kind }: Listed, space: string): Promise<string | undefined> => {
    const name = nameOfKind(kind)
    const { answer } = await read(name)
    if (typeof answer === 'string') return `${name} cannot be read: ${answer}`
    return answer.has(space) ? `a ${kind.kind} of this space is not in view yet` : undefined
  }
  /** By namespace/name: whether there is one of which a network is made, or why that cannot be read. */
  const readUDN = sharedRead(async (key: string) => {
    const startMs = clock.monotonicMs()
    const [namespace = '', name = ''] = key.split('/')
    try {
      const object = await client.get(userDefinedNetworks, { namespace, name })
      const udn = object && parseUserDefinedNetwork(object)
      // Of Layer3 no address is in one space.
      const answer = udn !== undefined && (isMalformed(udn) || udn.topology !== 'Layer3')
      return { answer, tookMs: clock.monotonicMs() - startMs }
    } catch (error) {
      const answer = isApiError(error, 'NotInstalled') ? false : describeError(error)
      return { answer, tookMs: clock.monotonicMs() - startMs }
    }
  }, rest)
  const ofNamespace = async ({ identity }: AskingPool, space: string): Promise<Refusal | undefined> => {
    const name = udnOfNetwork(space, identity.namespace)
    if (name === undefined) return undefined
    const { answer } = await readUDN(`${identity.namespace}/${name}`)
    if (answer === false) return undefined
    if (answer === true) return spaceAnnounced(identity, space)
    return spaceUnread(identity, `${nameOfKind(userDefinedNetworks)} cannot be read: ${answer}`)
  }
  return async pool => {
    const { identity, spaceAsked: space = '' } = pool
    // It may be there for long: nothing is listed for a pool that waits for it.
    const announced = await ofNamespace(pool, space)
    if (announced !== undefined) return announced
    const kinds = [ofPools, ofAttachments, ...(clusterUDNOfNetwork(space) === undefined ? [] : [ofClusterUDNs])]
    const unread = await Promise.all(kinds.map(kind => whyUnread(kind, space)))
    const why = unread.find(one => one !== undefined)
    return why === undefined ? undefined : spaceUnread(identity, why)
  }
}

/** Answers of such reads, one for each pool. No pass waits for one. */
export interface SpaceNames {
  /** By the key of the pool. Undefined while it is read: the pool is looked at again then. An answer counts once. */
  answerFor(key: string, pool: Pool): { readonly refused: Refusal | undefined } | undefined
  /** Nothing is asked about the pool any more. */
  forget(key: string): void
}

interface Asked {
  readonly uid: string
  answer: { readonly refused: Refusal | undefined } | undefined
}

export function createSpaceNames(read: SpaceNamesRead, onRead: (key: string) => void): SpaceNames {
  const asked = new Map<string, Asked>()
  return {
    answerFor(key, pool) {
      const { uid } = pool.metadata
      const known = asked.get(key)
      if (known?.uid === uid) {
        if (known.answer !== undefined) asked.delete(key)
        return known.answer
      }
      const one: Asked = { uid, answer: undefined }
      asked.set(key, one)
      const failed = (error: unknown) => spaceUnread(pool.identity, describeError(error))
      void read(pool)
        .catch(failed)
        .then(refused => {
          one.answer = { refused }
          if (asked.get(key) === one) onRead(key)
        })
      return undefined
    },
    forget: key => void asked.delete(key),
  }
}
