// The vCenters that Machines may use, as the administrator named them. Which server a Machine is made at is written by its author; a
// name that is not here is never connected to, so that no tenant sends Mooring's requests to a server of its choice.

import type { VSphereClient, VSphereOptions } from '../../vsphere/client.ts'

export interface VCenters {
  /** By the name that Machines and their Secrets use: where it is, as host or host:port. */
  readonly servers: ReadonlyMap<string, string>
  readonly connect: (options: VSphereOptions) => Promise<VSphereClient>
}

export const noVCenters: VCenters = {
  servers: new Map(),
  connect: () => Promise.reject(new Error('no vCenter may be used')),
}
