// The Machines of one namespace, the sets that make them, and all that their addresses depend on, as they were listed. Claims, pools and
// holds are those of the whole cluster: claims of other namespaces take addresses of the same pools.

import { type Machine, parseMachine } from '../api/machine.ts'
import {
  type ControlPlaneMachineSet,
  type MachineSet,
  parseControlPlaneMachineSet,
  parseMachineSet,
} from '../api/machine-set.ts'
import { type Listed, listAll, listWorld } from '../controllers/capi/listed.ts'
import { controlPlaneMachineSets, machineSets, machines } from '../controllers/machine/kinds.ts'
import { everything } from '../controllers/office/scope.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import type { Client } from '../kube/client.ts'
import { type KubeObject, keyOf } from '../kube/object.ts'

export interface Objects {
  readonly namespace: string
  readonly machines: readonly KubeObject[]
  readonly machineSets: readonly KubeObject[]
  readonly controlPlanes: readonly KubeObject[]
  readonly listed: Listed
}

export type FleetSet =
  | (MachineSet & { readonly type: 'MachineSet' })
  | (ControlPlaneMachineSet & { readonly type: 'ControlPlaneMachineSet' })

export interface Fleet {
  readonly namespace: string
  readonly machines: readonly Machine[]
  readonly sets: readonly FleetSet[]
  readonly listed: Listed
  /** What cannot be read, and why: nothing is said of it. */
  readonly unreadable: readonly Unreadable[]
}

export interface Unreadable {
  readonly object: string
  readonly why: string
}

/** One after the other: a look is no reason to burden the server. Machines first, so that the claims of each are listed too. */
export async function listFleet(client: Pick<Client, 'list'>, namespace: string): Promise<Fleet> {
  return fleetOf({
    namespace,
    machines: await listAll(client, machines, { namespace }),
    machineSets: await listAll(client, machineSets, { namespace }),
    controlPlanes: await listAll(client, controlPlaneMachineSets, { namespace }),
    listed: await listWorld(client, everything),
  })
}

export function fleetOf({ namespace, listed, ...objects }: Objects): Fleet {
  const unreadable: Unreadable[] = []
  const read = <T extends object>(
    kind: string,
    all: readonly KubeObject[],
    parse: (object: KubeObject) => T | Malformed,
  ): T[] =>
    all.flatMap(object => {
      const parsed = parse(object)
      if (!isMalformed(parsed)) return [parsed]
      unreadable.push({ object: `${kind} ${keyOf(object)}`, why: parsed.malformed })
      return []
    })
  const sets: FleetSet[] = [
    ...read('MachineSet', objects.machineSets, object => parseMachineSet(object)).map(set => ({
      ...set,
      type: 'MachineSet' as const,
    })),
    ...read('ControlPlaneMachineSet', objects.controlPlanes, object => parseControlPlaneMachineSet(object)).map(
      set => ({
        ...set,
        type: 'ControlPlaneMachineSet' as const,
      }),
    ),
  ]
  return {
    namespace,
    machines: read('Machine', objects.machines, object => parseMachine(object)).toSorted(byName),
    sets: sets.toSorted(byName),
    listed,
    unreadable,
  }
}

type Named = { readonly metadata: { readonly name: string } }

/** By code units: the order must not depend on the language of the machine that looks. */
const byName = (one: Named, other: Named): number => (one.metadata.name < other.metadata.name ? -1 : 1)
