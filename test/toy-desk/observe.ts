// What a decision about a berth is made on, gathered in one look at the caches and the ledger. Nothing is written and nothing
// is asked of the API server; `plan.ts` decides on it.

import type { Pool } from '../../src/api/pool.ts'
import { othersAt } from '../../src/controllers/office/disputes.ts'
import type { AnyHold } from '../../src/controllers/office/hold/steps.ts'
import { macHoldAt, macHoldsOfClaim } from '../../src/controllers/office/mac-holds.ts'
import type { PartsApplicant, PartsLedger } from '../../src/controllers/office/parts.ts'
import { holdsOfClaim } from '../../src/controllers/office/views.ts'
import { berths, toyGroup } from './kinds.ts'
import type { Berth } from './parsed.ts'
import { berthNamed } from './shown.ts'
import { keyOfBerth, type ToyWorld } from './world.ts'

export interface Seen {
  readonly berth: Berth
  /** Of its network; empty while that is not there, or cannot be read. */
  readonly pools: readonly Pool[]
  /** What is held in its name. */
  readonly held: readonly AnyHold[]
  /** `held` is what the API server answered, not what a cache shows. */
  readonly isLive: boolean
  /** False for a berth that another controller serves. */
  readonly isInScope: boolean
  readonly applicant: PartsApplicant
  readonly ledger: PartsLedger
}

type World = Pick<ToyWorld, 'caches' | 'ledger' | 'sources' | 'random'>

export function observe(berth: Berth, isInScope: boolean, { caches, ledger, sources, random }: World): Seen {
  const { namespace, name, uid } = berth.metadata
  const home = caches.namespaces.get(namespace)
  const own = [berthNamed(keyOfBerth(berth))]
  return {
    berth,
    pools: sources.poolsOf(berth.network),
    held: [...holdsOfClaim(caches, uid), ...macHoldsOfClaim(caches, uid)].filter(({ state }) => state === 'held'),
    isLive: false,
    isInScope,
    applicant: {
      claim: {
        ...{ apiGroup: toyGroup, kind: berths.kind, namespace, name, uid },
        ...(home?.metadata.uid !== undefined && { namespaceUID: home.metadata.uid }),
      },
      owner: undefined,
      namespaceLabels: home && (home.metadata.labels ?? {}),
      random: random(),
    },
    ledger: {
      indexOf: space => ledger.indexOf(space),
      holdAt: (space, ip) => ledger.holdAt(space, ip),
      macHoldAt: (space, mac) => macHoldAt(caches, space, mac),
      isDisputed: (space, ip) => othersAt(ledger, space, ip, own).length > 0,
    },
  }
}
