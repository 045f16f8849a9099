// Which claims the provider spec of a Machine asks for: one for each entry of `addressesFromPools`, in the order of devices and
// entries, which is the order of their names and of the addresses in the guest.

import type { PoolReference } from '../../../api/ip-address-claim.ts'
import { claimNameOf, providerSpecPath } from '../../../api/machine.ts'
import { poolReferenceOfEntry, type VSphereProviderSpec } from '../../../api/vsphere-provider-spec.ts'
import { isSubdomain } from '../../../ip/object-name.ts'
import { claimsOfMachineMax } from '../../../limits.ts'

export interface WantedClaim {
  readonly name: string
  readonly poolRef: PoolReference
}

export function wantedBy(machineName: string, { devices }: Pick<VSphereProviderSpec, 'devices'>): WantedClaim[] {
  return devices.flatMap(({ addressesFromPools }, device) =>
    addressesFromPools.map((entry, pool) => ({
      name: claimNameOf(machineName, device, pool),
      poolRef: poolReferenceOfEntry(entry),
    })),
  )
}

export interface WishFault {
  /** From the provider spec on. */
  readonly field: string
  readonly value: unknown
  readonly detail: string
}

/**
 * Why claims could not be made of the entries: the API server would refuse them, again in every pass. All that is wrong, so that it
 * is corrected once.
 */
export function wishFaults({ devices }: Pick<VSphereProviderSpec, 'devices'>, path = providerSpecPath): WishFault[] {
  const count = devices.reduce((sum, { addressesFromPools }) => sum + addressesFromPools.length, 0)
  if (count > claimsOfMachineMax) {
    const detail = `a Machine may take ${claimsOfMachineMax} addresses from pools at most`
    return [{ field: `${path}.network.devices`, value: count, detail }]
  }
  return devices.flatMap(({ addressesFromPools }, device) =>
    addressesFromPools.flatMap(({ group, resource, name }, pool): WishFault[] => {
      const field = `${path}.network.devices[${device}].addressesFromPools[${pool}]`
      return [
        ...(isGroup(group) ? [] : [{ field: `${field}.group`, value: group, detail: groupAdvice }]),
        ...(isKindName(resource) ? [] : [{ field: `${field}.resource`, value: resource, detail: resourceAdvice }]),
        ...(isName(name) ? [] : [{ field: `${field}.name`, value: name, detail: 'must be the name of the pool' }]),
      ]
    }),
  )
}

const groupAdvice = 'must be the API group of the pool, such as installer.openshift.io'
const resourceAdvice = 'must be the kind of the pool, such as IPPool'

const isName = (text: string): boolean => text.length <= 253 && isSubdomain(text)
const isGroup = isName
const isKindName = (text: string): boolean => text.length <= 63 && /^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$/.test(text)
