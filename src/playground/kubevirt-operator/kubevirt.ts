// kubevirt.life - the KubeVirt object is there, and its status says what virt-operator would say:
//
//   first pods                   Available False, DeploymentInProgress
//   the network has changed      Available True, UpdateInProgress; Progressing and Degraded too
//   all pods are as it says      Available True, AllComponentsReady, of this generation

import { createHash } from 'node:crypto'
import { isApiError } from '../../kube/api-error.ts'
import { keyOfRef } from '../../kube/object.ts'
import { timestamp } from '../../kube/timestamp.ts'
import { kubeVirts, namespaces } from '../kinds.ts'
import { isSame, type KubeVirt, withCondition } from '../shapes.ts'
import { networkOf, type OperatorWorld } from './world.ts'

interface Handlers {
  /** Every node has a pod as the KubeVirt object says, and it is ready. */
  readonly areReady: boolean
}

export async function keepKubeVirt(world: OperatorWorld, { areReady }: Handlers): Promise<void> {
  const { client, clock, caches, kubeVirt: ref } = world
  const found = caches.kubeVirts.get(keyOfRef(ref))
  if (found === undefined) return make(world)
  const target = deploymentOf(networkOf(found))
  const status = statusOf(found, target, areReady, timestamp(clock))
  const isThere = Object.entries(status).every(([field, value]) => isSame(found.status?.[field], value))
  if (isThere) return
  const { resourceVersion = '' } = found.metadata
  const options = { subresource: 'status', resourceVersion } as const
  caches.kubeVirts.learn(await client.mergePatch(kubeVirts, ref, { status }, options))
}

async function make({ client, caches, kubeVirt: { namespace, name } }: OperatorWorld): Promise<void> {
  await client
    .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    .catch(expectThere)
  const kubeVirt: KubeVirt = { apiVersion: 'kubevirt.io/v1', kind: 'KubeVirt', metadata: { namespace, name }, spec: {} }
  const made = await client.create(kubeVirts, kubeVirt).catch(expectThere)
  if (made !== undefined) caches.kubeVirts.learn(made)
}

function expectThere(error: unknown): undefined {
  if (!isApiError(error, 'AlreadyExists')) throw error
}

/** All components have it in their pods: by it virt-operator tells an update from none. */
export const deploymentOf = (network: string): string =>
  createHash('sha1').update(`playground ${network}`).digest('hex')

function statusOf({ metadata, status }: KubeVirt, target: string, areReady: boolean, now: string) {
  const isFirst = status?.observedDeploymentID === undefined
  const reason = areReady ? 'AllComponentsReady' : isFirst ? 'DeploymentInProgress' : 'UpdateInProgress'
  // What was rolled out stays available: a pod that restarts by itself is no update.
  const isRolledOut = status?.observedDeploymentID === target
  if (isRolledOut && !areReady) return { observedGeneration: metadata.generation ?? 0 }
  const said = [
    ['Available', areReady || !isFirst],
    ['Progressing', !areReady],
    ['Degraded', !areReady && !isFirst],
  ] as const
  const conditions = said.reduce(
    (all, [type, is]) =>
      withCondition(all, { type, status: is ? 'True' : 'False', reason, message: sentences[reason] }, now),
    status?.conditions,
  )
  if (!areReady) return { phase: isFirst ? 'Deploying' : 'Deployed', targetDeploymentID: target, conditions }
  const observed = { observedDeploymentID: target, observedGeneration: metadata.generation ?? 0 }
  return { phase: 'Deployed', targetDeploymentID: target, ...observed, conditions }
}

const sentences = {
  AllComponentsReady: 'All components are ready.',
  DeploymentInProgress: 'Deploying: a stand-in of the playground.',
  UpdateInProgress: 'Transitioning to another configuration: a stand-in of the playground.',
} as const
