// Which of the devices of a virtual machine are network cards.

import { childOf, type XMLElement } from '../xml.ts'
import { typeOf } from './value.ts'

const cardTypes = new Set([
  'VirtualEthernetCard',
  'VirtualVmxnet',
  'VirtualVmxnet2',
  'VirtualVmxnet3',
  'VirtualVmxnet3Vrdma',
  'VirtualE1000',
  'VirtualE1000e',
  'VirtualPCNet32',
  'VirtualSriovEthernetCard',
])

/** Of a type that is newer than this list, by what only cards have. */
export function isCard(device: XMLElement): boolean {
  return cardTypes.has(typeOf(device) ?? '') || childOf(device, 'addressType') !== undefined
}
