// The desk of virtual machines: what it brings, what it sees, and its reconcilers. What wakes each of them is said where it is
// opened: claims/open.ts, binding/open.ts, pods/open.ts.

import { launcherLabel } from '../../api/names.ts'
import type { Desk, DeskInView } from '../desk.ts'
import { attachments } from '../office/kinds.ts'
import type { Office } from '../office/office.ts'
import { RecentRefusals } from '../office/recent-refusals.ts'
import { openBinding } from './binding/open.ts'
import { createLaunchersOf } from './claims/ask.ts'
import { openClaims } from './claims/open.ts'
import { vmFacts } from './facts.ts'
import { ipamClaims, pods, virtualMachineInstances, virtualMachines } from './kinds.ts'
import { measureClaims, measureLaunchers } from './metrics.ts'
import { vmPermissions } from './permissions.ts'
import { openPods } from './pods/open.ts'
import { followShown } from './shown.ts'
import { vmWebhooks } from './webhooks/webhooks.ts'
import { createCaches } from './world.ts'

const kubevirt = 'KubeVirt'
const ofNetworks = { where: 'networks' } as const
const launchers = { ...ofNetworks, labelSelector: `${launcherLabel}=virt-launcher` }

export const vm: Desk = {
  name: 'vm',
  about: 'Interfaces of virtual machines keep their IPAMClaims, and these their addresses',
  kinds: [
    {
      kind: ipamClaims,
      isNeeded: true,
      comesWith: 'OVN-Kubernetes',
      definition: 'crd/networks/ipamclaims.k8s.cni.cncf.io.yaml',
      usedAs: 'claim',
    },
    { kind: virtualMachines, isNeeded: true, comesWith: kubevirt },
    { kind: virtualMachineInstances, isNeeded: true, comesWith: kubevirt },
    { kind: attachments, isNeeded: true, comesWith: 'Multus or OVN-Kubernetes' },
    { kind: pods, isNeeded: true, comesWith: 'every API server' },
  ],
  permissions: vmPermissions,
  webhooks: vmWebhooks,
  conversions: [],
  definitions: [],
  see: seeVM,
}

function seeVM(office: Office): DeskInView {
  const { client, clock, random, ledger, sources, networks } = office
  const caches = createCaches(office.isFrozen, office.views)
  const isAllShown = followShown({ ...caches, networks, sources }, ledger)
  const seen = [office.see(ipamClaims, caches.claims, ofNetworks), office.see(pods, caches.pods, launchers)]
  return {
    facts: () => vmFacts({ client, caches, networks, scope: office.scope }),
    open(domain) {
      const { telemetry } = office
      const podMetrics = telemetry && measureLaunchers(telemetry, clock)
      const kept = { recorder: office.recorderOf('vm'), recentRefusals: new RecentRefusals(), podMetrics }
      const asked = { launchersOf: createLaunchersOf(client, clock), readReservations: office.readReservations }
      const world = { client, clock, random, ledger, sources, caches, networks, isAllShown, ...asked, ...kept }
      if (telemetry !== undefined) measureClaims(telemetry, world)
      openClaims(office, domain, world)
      openBinding(office, domain, world)
      openPods(office, domain, world)
      for (const kind of seen) kind.neededBy(domain)
      office.needNetworks(domain)
      office.watch(domain, virtualMachines, caches.vms)
      office.watch(domain, virtualMachineInstances, caches.vmis)
    },
  }
}
