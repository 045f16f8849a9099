// The two addresses of a primary layer2 network that OVN-Kubernetes keeps for itself, in each of its subnets: the gateway, and
// that of the management ports. They are chosen as OVN-Kubernetes chooses them, so that neither is ever given out:
//
//   gateway       the configured one, else the first free address of the infrastructure subnets, else the subnet's .1
//   management    the next free address of the infrastructure subnets, else .2, or .1 if the gateway is .2
//
// Free is what is neither the first address of the subnet, nor the last of an IPv4 subnet, nor the gateway.

import { fromValue, type IP, isSameIP, toValue } from '../ip/address.ts'
import { type CIDR, containsIP, firstIP, lastIP } from '../ip/cidr.ts'
import { rangeOfCIDR } from '../ip/range.ts'

export interface Infrastructure {
  readonly gateway: IP
  readonly management: IP
}

/** `infrastructure`: of both families, in the order in which they are listed. */
export function infrastructureOf(
  subnet: CIDR,
  configured: IP | undefined,
  infrastructure: readonly CIDR[],
): Infrastructure {
  const gateway = configured ?? firstFree(subnet, infrastructure) ?? nth(subnet, 1n)
  const second = nth(subnet, 2n)
  const management =
    firstFree(subnet, infrastructure, gateway) ?? (isSameIP(second, gateway) ? nth(subnet, 1n) : second)
  return { gateway, management }
}

/** Whether a subnet has room for both, beside its first and last address. */
export const hasRoomForInfrastructure = ({ ip, bits }: CIDR): boolean => bits <= (ip.family === 4 ? 30 : 126)

const nth = (subnet: CIDR, n: bigint): IP => fromValue(subnet.ip.family, rangeOfCIDR(subnet).first + n)

function firstFree(subnet: CIDR, infrastructure: readonly CIDR[], gateway?: IP): IP | undefined {
  const { family } = subnet.ip
  const taken = [firstIP(subnet), ...(family === 4 ? [lastIP(subnet)] : []), ...(gateway ? [gateway] : [])]
  for (const block of infrastructure) {
    if (!containsIP(subnet, block.ip)) continue
    const { first, last } = rangeOfCIDR(block)
    // At most three are taken: the fourth is free, if there is one.
    for (let value = first; value <= last; value++) {
      if (!taken.some(ip => toValue(ip) === value)) return fromValue(family, value)
    }
  }
  return undefined
}
