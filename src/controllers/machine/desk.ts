// The desk of OpenShift's Machines: what it brings, what it sees, and its reconcilers. What wakes them is said where they are opened:
// claims/open.ts.

import type { Desk, DeskInView } from '../desk.ts'
import type { Office } from '../office/office.ts'
import { openClaims } from './claims/open.ts'
import { claims, controlPlaneMachineSets, machineSets, machines, reports } from './kinds.ts'
import { fullMachinePermissions, machinePermissions } from './permissions.ts'
import { infrastructures } from './sets/failure-domains.ts'
import { openSets } from './sets/open.ts'
import { createSetCaches } from './sets/world.ts'
import { openVMs } from './vm/open.ts'
import { Sessions } from './vm/sessions.ts'
import { machineWebhooks } from './webhooks/webhooks.ts'
import { createCaches, type MachineWorld, OwnedClaims, ShownAddresses } from './world.ts'

const openshift = 'OpenShift'
const clusterAPI = 'Cluster API'

export const machine: Desk = {
  name: 'machine',
  about: 'Machines of OpenShift on vSphere get the addresses of the pools that they name',
  kinds: [
    { kind: machines, isNeeded: true, comesWith: openshift },
    { kind: claims, isNeeded: false, comesWith: clusterAPI },
    { kind: reports, isNeeded: false, comesWith: clusterAPI },
  ],
  permissions: machinePermissions,
  permissionsInFull: fullMachinePermissions,
  webhooks: machineWebhooks,
  conversions: [],
  definitions: [],
  standIns: ['crd/machine/'],
  see: seeMachines,
}

/** Machines show no address in use: their claims and IPAddresses do, and the capi desk sees those. */
function seeMachines(office: Office): DeskInView {
  const { client, clock, random, scope, machineMode: mode, vcenters } = office
  const caches = createCaches(office)
  return {
    facts: () => ({}),
    open(domain) {
      const owned = new OwnedClaims(caches.claims)
      const recorder = office.recorderOf(machine.name)
      const shown = new ShownAddresses(caches.reports)
      const world: Omit<MachineWorld, 'note'> = { client, clock, scope, mode, caches, owned, shown, recorder }
      openClaims(domain, world)
      if (mode === 'full') {
        const sessions = new Sessions(of => vcenters.connect({ ...of, clock, random }), clock)
        openVMs(domain, { ...world, random, sessions, vcenters, sources: office.sources })
        const sets = createSetCaches(office.isFrozen)
        openSets(domain, { ...world, random, sets })
        office.watch(domain, machineSets, sets.machineSets, { isNeeded: false })
        office.watch(domain, controlPlaneMachineSets, sets.controlPlanes, { isNeeded: false })
        office.watch(domain, infrastructures, sets.infrastructures, { isNeeded: false })
      }
      for (const [kind, cache] of [
        [claims, caches.claims],
        [reports, caches.reports],
      ] as const) {
        if (office.cacheOf(kind) === cache) office.needSeen(domain, kind)
        else office.watch(domain, kind, cache, { isNeeded: 'where installed' })
      }
      office.watch(domain, machines, caches.machines)
    },
  }
}
