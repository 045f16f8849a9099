// A server with KubeVirt and Mooring at work on it.

import { join } from 'node:path'
import { startCluster } from '../../scripts/real/cluster.ts'
import { startEmbedded } from '../../scripts/real/embedded.ts'
import type { KubeVirtVersion } from '../../scripts/real/kubevirt.ts'
import type { Processes } from '../capi/processes.ts'
import { connect } from '../conformance/client.ts'
import { type Place, startKubeVirt } from './control-plane.ts'
import { startMooring } from './mooring.ts'
import { startNodes } from './nodes.ts'

export const serverKinds = ['cluster', 'embedded'] as const
export type ServerKind = (typeof serverKinds)[number]

export interface WorldOptions {
  readonly name: string
  readonly dir: string
  readonly version: KubeVirtVersion
  readonly server: ServerKind
}

export async function startWorld({ name, dir, version, server }: WorldOptions, processes: Processes): Promise<Place> {
  const own = join(dir, name)
  // `up` brings its desks and the nodes with it; the VM controller is KubeVirt's.
  const started =
    server === 'embedded'
      ? await startEmbedded({ dir: own, args: ['--desks=vm,import,migration', '--playground=node'] })
      : await startCluster({ dir: own })
  processes.keep(() => started.stop())
  const { kubeconfig } = started
  const place: Place = { name, dir: own, kubeconfig, client: connect(kubeconfig), version }
  await startKubeVirt(place, processes)
  if (server === 'cluster') {
    await startMooring(place, processes)
    await startNodes(place, processes)
  }
  return place
}
