// Which space a namespaced pool gets that asks for one by name. Each pool of a space takes addresses away from the others: so a
// tenant's pool joins a space of the cluster only if all members of it are offered to the tenant's namespace. Any other name is
// a space of the namespace's own.
//
//   stored               members cluster-wide   then
//   the namespace's own  -                      it stays that, also if a space of the cluster gets the name later
//   nothing, or joined   all offer it           joined
//   nothing, or joined   not all offer it       refused: nothing new is given
//   joined               none any more          refused: its holds stay where they are
//   nothing              none                   the namespace's own
//
// The answer is stored in `status.space` of the pool: a space of the cluster that comes later must not move the pool, and with
// it every hold, into another one. Tenants may be able to write the status. Nothing is gained by it: a stored text counts only
// as one of the two possible answers, "joined" is judged anew every time something is to be given out, and the other one is
// the namespace's own.

import { type Identity, parseIdentityKey } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import { spaceOfNamespace } from '../api/space.ts'
import { poolText, type Refusal, refuse } from './refusal.ts'

/** A cluster-scoped pool or a network in the space that is asked for. */
export interface SpaceMember {
  /** As people write it: `ClusterAddressPool lab`. For logs; the author of the pool that asks may not see it. */
  readonly text: string
  /** Whether it is offered to the namespace of the pool that asks. */
  readonly offers: boolean
}

export type Joining = { readonly space: string } | { readonly refused: Refusal }

/** The pool: one of a namespace, that asks for a space. Its `space` is the stored decision; empty if there is none. */
export type AskingPool = Pick<Pool, 'identity' | 'spaceAsked' | 'space'>

/** `members`: all that have the asked space cluster-wide. */
export function decideSpace(pool: AskingPool, members: readonly SpaceMember[]): Joining {
  const asked = pool.spaceAsked
  const { namespace } = pool.identity
  if (asked === undefined) return { space: pool.space }
  const named = parseIdentityKey(asked)
  if (named === undefined && pool.space === spaceOfNamespace(namespace, asked)) return { space: pool.space }
  if (named !== undefined && named.namespace !== '') return joinPoolOfNamespace(pool, asked, named)
  if (members.some(({ offers }) => !offers)) {
    return { refused: named === undefined ? notOffered(asked, namespace) : notThereOrNotOffered(asked, namespace) }
  }
  if (members.length > 0) return { space: asked }
  if (pool.space === asked) return { refused: gone(pool, asked) }
  if (named === undefined) return { space: spaceOfNamespace(namespace, asked) }
  return { refused: notThereOrNotOffered(asked, namespace) }
}

function joinPoolOfNamespace({ identity }: AskingPool, asked: string, named: Identity): Joining {
  return named.namespace === identity.namespace ? { space: asked } : { refused: ofAnother(asked, identity.namespace) }
}

/** The members of the space are not named: the reader may not see those objects. */
function notOffered(space: string, namespace: string): Refusal {
  const why = `space ${space} is not offered to namespace ${namespace}`
  return refuse(
    'SpaceNotOffered',
    `${why}: its administrator decides by spec.allowedNamespaces; or choose another name`,
  )
}

function gone({ identity }: AskingPool, space: string): Refusal {
  const why = `space ${space}, which ${poolText(identity)} joined, is gone: no pool or network of the cluster has it any more`
  return refuse('SpaceNotOffered', `${why}; holders keep their addresses; have it created again, or make another pool`)
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
