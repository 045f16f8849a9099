// What a claim, its label and the interface in the pod are called. Other programs compute the same names: KubeVirt that of the
// interface, ipam-extensions those of the claims that it made before Mooring came.
//
// The plain name of ipam-extensions folds (upper case, `_` and `.`), and is cut: two interfaces may come to one name. Wherever
// that could be, ours ends in a hash of what it was made from.

import { createHash } from 'node:crypto'

/** Of the pod network, in the pod. */
export const podNetworkInterface = 'eth0'

const nameCharsMax = 253
const labelCharsMax = 63
const hashChars = 8

/** As ipam-extensions names the claim of a virtual machine and one of its networks. */
export function plainClaimName(vm: string, network: string): string {
  const runs = `${vm}.${network}`.toLowerCase().match(/[a-z0-9]([-a-z0-9]*[a-z0-9])?/g) ?? []
  return runs.join('.').slice(0, nameCharsMax)
}

/** The name of the claim that Mooring makes. No two interfaces of a namespace share one. */
export function claimName(vm: string, network: string): string {
  const plain = plainClaimName(vm, network)
  const isClear = plain === `${vm}.${network}` && !vm.includes('.') && !network.includes('.')
  return isClear ? plain : hashed(plain, `${vm}/${network}`, nameCharsMax)
}

/** The same while the interface has a claim on another network, which still lives: it is being moved from there. */
export function movedClaimName(vm: string, network: string, attachment: string, networkName: string): string {
  return hashed(plainClaimName(vm, network), `${vm}/${network}/${attachment}/${networkName}`, nameCharsMax)
}

/** A name of a virtual machine is longer than the value of a label may be. */
export function vmLabelValue(vm: string): string {
  const isLegal = vm.length <= labelCharsMax && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(vm)
  return isLegal ? vm : hashed(vm, vm, labelCharsMax)
}

/** As KubeVirt names the interface of a network in the pod. */
export const podInterfaceName = (network: string): string => `pod${sha256(network).slice(0, 11)}`

/** Cut where it has to be, so that it still ends in a letter or a digit before the hash. */
function hashed(text: string, of: string, charsMax: number): string {
  const base = text.slice(0, charsMax - hashChars - 1).replace(/[^a-z0-9]+$/, '')
  return `${base}-${sha256(of).slice(0, hashChars)}`
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
