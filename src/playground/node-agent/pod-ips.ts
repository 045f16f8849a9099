// Addresses of pods on the pod network, as the network plugin of a cluster gives them out: any free one of 10.244.0.0/16. They
// are made up, last as long as the pod, and have nothing to do with what Mooring gives out.

import { createHash } from 'node:crypto'
import type { Cache } from '../../kube/cache.ts'
import type { Pod } from '../shapes.ts'
import type { PodIndex } from './world.ts'

export interface PodIPs {
  of(pod: Pod): string
}

/** Without the first and the last of the range. */
const size = 256 * 256 - 2

/** Made before the cache is filled: it has to hear of every pod. */
export function createPodIPs(pods: Cache<Pod, PodIndex>): PodIPs {
  /** The uid of the pod that has the address. */
  const holders = new Map<string, string>()
  pods.subscribe(({ old, new: next }) => {
    const ip = old?.status?.podIP
    if (ip !== undefined && next === undefined && holders.get(ip) === old?.metadata.uid) holders.delete(ip)
    if (next?.status?.podIP !== undefined) holders.set(next.status.podIP, next.metadata.uid ?? '')
  })
  return {
    of({ metadata: { uid = '' }, status }) {
      if (status?.podIP !== undefined) return status.podIP
      const first = createHash('sha256').update(uid).digest().readUInt32BE(0) % size
      for (let i = 0; i < size; i++) {
        const ip = addressAt(1 + ((first + i) % size))
        const holder = holders.get(ip)
        if (holder !== undefined && holder !== uid) continue
        holders.set(ip, uid)
        return ip
      }
      throw new Error('the playground has no free address for another pod')
    },
  }
}

const addressAt = (offset: number): string => `10.244.${offset >> 8}.${offset & 255}`
