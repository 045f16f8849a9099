// The desk of virtual machines that move in: networks with a gateway for them, and what IPPools keep there. What wakes its
// reconcilers is said in rendering/open.ts and pools/open.ts.

import { userDefinedNetworkLabel } from '../../api/names.ts'
import type { Desk, DeskInView } from '../desk.ts'
import {
  attachments,
  clusterUserDefinedNetworks,
  egressIPs,
  ipamClaims,
  ipPools,
  pods,
  userDefinedNetworks,
} from '../office/kinds.ts'
import type { Office } from '../office/office.ts'
import { importFacts } from './facts.ts'
import { importPermissions } from './permissions.ts'
import { openPools } from './pools/open.ts'
import { openRendering } from './rendering/open.ts'
import { importWebhooks } from './webhooks/webhooks.ts'
import { createCaches } from './world.ts'

const ovn = 'OVN-Kubernetes'

export const imports: Desk = {
  name: 'import',
  about: 'Virtual machines that move in keep their MAC, addresses and gateway',
  kinds: [
    { kind: userDefinedNetworks, isNeeded: true, comesWith: ovn },
    { kind: clusterUserDefinedNetworks, isNeeded: true, comesWith: ovn },
    { kind: attachments, isNeeded: true, comesWith: 'Multus, KubeVirt or OVN-Kubernetes' },
    { kind: ipPools, isNeeded: false, comesWith: "Mooring's definitions, config/crd" },
    { kind: ipamClaims, isNeeded: false, comesWith: 'the network plumbing working group' },
    { kind: pods, isNeeded: true, comesWith: 'every API server' },
  ],
  permissions: importPermissions,
  webhooks: importWebhooks,
  conversions: [],
  definitions: [],
  see: seeImports,
}

/** Networks show no address in use: the office reads what they come to. */
function seeImports(office: Office): DeskInView {
  const { client, clock, scope, networkRules, views, networks, sources } = office
  return {
    facts: () => importFacts(views),
    open(domain) {
      const caches = createCaches(office.isFrozen, office.views)
      const isRendering = async () => {
        if (networkRules.udn !== 'auto') return networkRules.udn === 'render'
        return !(await office.isInstalled(egressIPs))
      }
      openRendering(domain, { client, clock, scope, caches, mode: networkRules.udn, isRendering })
      openPools(domain, { client, clock, views, networks, sources })
      office.needNetworks(domain)
      office.needSeen(domain, clusterUserDefinedNetworks)
      office.watch(domain, userDefinedNetworks, caches.udns)
      office.watch(domain, attachments, caches.rendered, { labelSelector: userDefinedNetworkLabel })
    },
  }
}
