// Starts the server under test once for the whole suite: the embedded one, or a real kube-apiserver whose workload
// controllers are off, so that both hold the same plain data.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { Unavailable } from '../../scripts/real/binaries.ts'
import { startCluster } from '../../scripts/real/cluster.ts'
import { startEmbedded } from '../../scripts/real/embedded.ts'

declare module 'vitest' {
  interface ProvidedContext {
    kubectl: { server: 'embedded' | 'cluster'; kubeconfig: string; isRecording: boolean } | { missing: string }
  }
}

const workloadControllers = [
  'deployment-controller',
  'replicaset-controller',
  'replicationcontroller-controller',
  'statefulset-controller',
  'daemonset-controller',
  'job-controller',
  'cronjob-controller',
  'disruption-controller',
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'horizontal-pod-autoscaler-controller',
  'resourcequota-controller',
  'pod-garbage-collector-controller',
  'node-ipam-controller',
  'persistentvolume-binder-controller',
  'persistentvolumeclaim-protection-controller',
  'persistentvolume-protection-controller',
  'persistentvolume-attach-detach-controller',
  'persistentvolume-expander-controller',
  'ephemeral-volume-controller',
  'service-lb-controller',
  'node-route-controller',
  'ttl-controller',
  'device-taint-eviction-controller',
  'resourceclaim-controller',
]

/** Another client words its output in another way; `--record` records anew. */
const recordedWith = '1.32'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const client = spawnSync('kubectl', ['version', '--client'], { encoding: 'utf8' })
  if (client.status !== 0) {
    return skip(project, 'kubectl is not installed')
  }
  const minor = /Client Version: v(\d+\.\d+)/.exec(client.stdout)?.[1]
  const isRecordedWith = minor === recordedWith || process.env.MOORING_KUBECTL_RECORD === 'true'
  if (!isRecordedWith) {
    return skip(
      project,
      `kubectl is ${minor ?? 'of an unknown version'}, and the answers were recorded with ${recordedWith}`,
    )
  }
  const server = process.env.MOORING_KUBECTL_SERVER === 'cluster' ? 'cluster' : 'embedded'
  const isRecording = process.env.MOORING_KUBECTL_RECORD === 'true'
  const dir = mkdtempSync(join(tmpdir(), 'kubectl-server-'))
  const start = () =>
    server === 'cluster'
      ? startCluster({
          dir,
          controllerManagerArgs: [`--controllers=${workloadControllers.map(name => `-${name}`).join(',')}`],
          say: line => console.error(line),
        })
      : startEmbedded({ dir, args: ['--desks=none'] })
  const started = await start().catch((error: unknown) => {
    if (error instanceof Unavailable) return error
    throw error
  })
  if (started instanceof Unavailable) {
    rmSync(dir, { recursive: true, force: true })
    return skip(project, started.message)
  }
  project.provide('kubectl', { server, kubeconfig: started.kubeconfig, isRecording })
  return async () => {
    await started.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

function skip(project: TestProject, missing: string): () => Promise<void> {
  console.log(`skipped, because ${missing}`)
  project.provide('kubectl', { missing })
  return async () => {}
}
