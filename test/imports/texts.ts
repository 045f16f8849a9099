import { type IP, parseIP } from '../../src/ip/address.ts'
import { type CIDR, parseCIDR } from '../../src/ip/cidr.ts'
import { orThrow } from '../harness/or-throw.ts'

export const ip = (text: string): IP => orThrow(parseIP(text))
export const cidr = (text: string): CIDR => orThrow(parseCIDR(text))
