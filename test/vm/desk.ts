// A desk that only keeps claims and serves the webhooks of the vm desk, over networks that a test puts there.

import { capi } from '../../src/controllers/capi/desk.ts'
import type { Desk } from '../../src/controllers/desk.ts'
import { createLaunchersOf } from '../../src/controllers/vm/claims/ask.ts'
import { openClaims } from '../../src/controllers/vm/claims/open.ts'
import { claimsPermissions } from '../../src/controllers/vm/claims/permissions.ts'
import { vmFacts } from '../../src/controllers/vm/facts.ts'
import { ipamClaims, pods, virtualMachineInstances, virtualMachines } from '../../src/controllers/vm/kinds.ts'
import { vmWebhooks } from '../../src/controllers/vm/webhooks/webhooks.ts'
import { createCaches } from '../../src/controllers/vm/world.ts'
import type { StubNetworks } from './builders.ts'

export function desksOver(networks: StubNetworks): readonly Desk[] {
  const desk: Desk = {
    name: 'vm-claims',
    about: 'IPAMClaims follow virtual machines',
    kinds: [],
    permissions: claimsPermissions,
    webhooks: vmWebhooks,
    conversions: [],
    definitions: [],
    see(office) {
      const { client, clock, scope } = office
      const caches = createCaches(office.isFrozen, office.views)
      return {
        facts: () => vmFacts({ client, caches, networks, scope }),
        open(domain) {
          const recorder = office.recorderOf('vm-claims')
          openClaims(office, domain, {
            client,
            caches,
            networks,
            recorder,
            launchersOf: createLaunchersOf(client, clock),
          })
          office.watch(domain, ipamClaims, caches.claims)
          office.watch(domain, virtualMachines, caches.vms)
          office.watch(domain, virtualMachineInstances, caches.vmis)
          office.watch(domain, pods, caches.pods)
        },
      }
    },
  }
  return [capi, desk]
}
