// Which space a pool gets that asks for one. Each pool of a space takes addresses away from the others: so a tenant's pool joins a
// space of the cluster only if all members of it are offered to the tenant's namespace. Any other name is a space of the
// namespace's own.
//
//   asked by its name:
//   stored               of the namespace      members cluster-wide   then
//   the namespace's own  -                     -                      it stays that, also if the cluster gets one of the name later
//   nothing              another has its own   -                      the namespace's own: pools that name one space share it
//   joined               another has its own   -                      refused: its holds stay where they are
//   nothing, or joined   -                     all offer it           joined
//   nothing, or joined   -                     not all offer it       refused: nothing new is given
//   joined               -                     none any more          refused: its holds stay where they are
//   nothing              another joined        none any more          refused
//   nothing              -                     a network that is      undecided: it is one of these answers when the network is
//                                              defined, and not       there
//                                              there yet
//   nothing              -                     none                   the namespace's own
//
//   asked by the key of a pool, by one of its namespace or by a pool of the cluster:
//   stored               that pool             then
//   joined               -                     it stays that, whatever becomes of that pool
//   nothing              is in its own space   joined
//   nothing              is in another         undecided: the author means the space that it is in, and has to say so
//   nothing              is not there          undecided
//
// The answer is stored in `status.space` of the pool: a space of the cluster that comes later must not move the pool, and with
// it every hold, into another one. Tenants may be able to write the status. Nothing is gained by it: a stored text counts only
// as one of the two possible answers, "joined" to a space of the cluster is judged anew every time something is to be given out,
// and all else is the namespace's own.

import { type Identity, parseIdentityKey } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import { spaceOfNamespace } from '../api/space.ts'
import { poolText, type Refusal, refuse, spaceAnnounced } from './refusal.ts'

/** A cluster-scoped pool, or a network with or without addresses, in the space that is asked for. */
export interface SpaceMember {
  /** Whether it is offered to the namespace of the pool that asks. */
  readonly offers: boolean
  readonly isNetwork: boolean
}

export interface SpaceFacts {
  /** All that have the asked space cluster-wide. */
  readonly members: readonly SpaceMember[]
  /** A network of that name is defined for the namespace, and cannot be used yet. */
  readonly isAnnounced: boolean
  /** What the namespace has under the asked name: a space of its own, or that of the cluster, which another pool joined. */
  readonly namespaceHas: 'own' | 'joined' | undefined
  /** The pool of which the key is asked for. */
  readonly named: NamedPool | undefined
}

type NamedPool = Pick<Pool, 'spaceAsked' | 'space'>

export type Joining =
  | {
      readonly space: string
      /** Nothing was seen that has the name: what is not seen yet would be missed for good. */
      readonly isUnseen?: true
    }
  | { readonly refused: Refusal }

/** The pool: one that asks for a space. Its `space` is the stored decision; empty if there is none. */
export type AskingPool = Pick<Pool, 'identity' | 'spaceAsked' | 'space'>

export function decideSpace(pool: AskingPool, facts: SpaceFacts): Joining {
  const asked = pool.spaceAsked
  const { namespace } = pool.identity
  if (asked === undefined) return { space: pool.space }
  const key = parseIdentityKey(asked)
  if (key === undefined) return decideByName(pool, asked, facts)
  if (namespace === '' || key.namespace === namespace) return decideByKey(pool, asked, key, facts)
  if (key.namespace !== '') return { refused: ofAnother(asked, namespace) }
  if (facts.members.length === 0 || facts.members.some(({ offers }) => !offers)) {
    return { refused: notThereOrNotOffered(asked, namespace) }
  }
  return { space: asked }
}

function decideByName(pool: AskingPool, asked: string, { members, namespaceHas, isAnnounced }: SpaceFacts): Joining {
  const { namespace } = pool.identity
  const own = spaceOfNamespace(namespace, asked)
  if (pool.space === own) return { space: own }
  if (namespaceHas === 'own') return pool.space === asked ? { refused: apart(pool, asked) } : { space: own }
  const closed = members.find(({ offers }) => !offers)
  if (closed !== undefined) return { refused: notOffered(asked, namespace, closed) }
  if (members.length > 0) return { space: asked }
  if (pool.space === asked || namespaceHas === 'joined') return { refused: gone(pool, asked) }
  if (isAnnounced) return { refused: spaceAnnounced(pool.identity, asked) }
  return { space: own, isUnseen: true }
}

function decideByKey(pool: AskingPool, asked: string, key: Identity, { named }: SpaceFacts): Joining {
  if (pool.space === asked || named?.space === asked) return { space: asked }
  if (named === undefined) return { refused: notThere(pool, asked, key) }
  return { refused: elsewhere(pool, key, named) }
}

/** The members of the space are not named: the reader may not see those objects. */
function notOffered(space: string, namespace: string, { isNetwork }: SpaceMember): Refusal {
  if (isNetwork) {
    const why = `space ${space} is that of a network in which namespace ${namespace} has no part`
    const how = 'create a NetworkAttachmentDefinition of the network there, which the network has to be offered to'
    const name = `or choose another name: none that begins with ${namespace}_ is taken by another namespace`
    return refuse('SpaceNotOffered', `${why}: ${how}; ${name}`)
  }
  const why = `space ${space} is not offered to namespace ${namespace}`
  return refuse(
    'SpaceNotOffered',
    `${why}: its administrator decides by spec.allowedNamespaces; or choose another name`,
  )
}

function gone({ identity: { namespace } }: AskingPool, space: string): Refusal {
  const why = `space ${space}, which pools of namespace ${namespace} joined, is gone`
  const what = 'no pool or network of the cluster has it any more'
  return refuse(
    'SpaceNotOffered',
    `${why}: ${what}; holders keep their addresses; have it created again, or make another pool`,
  )
}

/** Pools of one namespace that name one space are meant to share it. */
function apart({ identity }: AskingPool, space: string): Refusal {
  const why = `${poolText(identity)} joined space ${space} of the cluster`
  const what = `namespace ${identity.namespace} has a space of its own of that name, which other pools of it have`
  return refuse(
    'SpaceNotOffered',
    `${why}, but ${what}; holders keep their addresses; make another pool, which gets it too`,
  )
}

/** Of a cluster-scoped pool by its key. The same whether there is such a pool: else its name could be found by trying. */
function notThereOrNotOffered(space: string, namespace: string): Refusal {
  const why = `space ${space} does not exist, or is not offered to namespace ${namespace}`
  return refuse(
    'SpaceNotOffered',
    `${why}: the administrator of that pool decides by spec.allowedNamespaces; or choose another name`,
  )
}

function ofAnother(space: string, namespace: string): Refusal {
  const why = `space ${space} is the own space of a pool of another namespace than ${namespace}`
  return refuse('SpaceNotOffered', `${why}, and cannot be joined: choose another name`)
}

/** It may be created in the next moment, as the pool that asks was. */
function notThere({ identity }: AskingPool, space: string, key: Identity): Refusal {
  const why = `${poolText(identity)} names the space of ${poolText(key)}, ${space}`
  return refuse(
    'SpaceUndecided',
    `${why}, which does not exist or cannot be read: create it, or make another pool that names another space`,
  )
}

function elsewhere({ identity }: AskingPool, key: Identity, named: NamedPool): Refusal {
  const { space, spaceAsked = space } = named
  const why = `${poolText(key)}, which ${poolText(identity)} names as its space, is in space ${space === '' ? spaceAsked : space}`
  const isOfNamespace = space === spaceOfNamespace(key.namespace, spaceAsked)
  const how = `make a pool whose spec.space is ${spaceAsked}`
  const isClosed = identity.namespace === '' && isOfNamespace
  return refuse('SpaceUndecided', `${why}: ${isClosed ? 'only pools of that namespace can join it' : how}`)
}
