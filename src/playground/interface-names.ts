// How KubeVirt calls the interface of a pod that a network of a virtual machine is on.

import { createHash } from 'node:crypto'

/** Eleven digits: with the suffix that KubeVirt puts on other devices, more would not be a name of Linux. */
export const podInterfaceName = (network: string): string =>
  `pod${createHash('sha256').update(network).digest('hex').slice(0, 11)}`
