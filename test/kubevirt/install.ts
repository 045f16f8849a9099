// What KubeVirt's operator installs for virt-api and virt-controller, put into a server without the operator.

import { spawnSync } from 'node:child_process'
import { type KubeVirtVersion, kubevirtBinary } from '../../scripts/real/kubevirt.ts'
import { must } from '../capi/answers.ts'
import type { Body, Client } from '../conformance/client.ts'
import { apply, define } from './apply.ts'

export const kubevirtNamespace = 'kubevirt'
/** As KubeVirt names the Service in its webhook configurations and API services. */
export const virtApiService = 'virt-api'

/** KubeVirt's own objects, which need the address of virt-api before they are of use. */
export interface Registrations {
  readonly webhooks: readonly Body[]
  readonly apiServices: readonly Body[]
}

/** Definitions, service accounts and roles, and the KubeVirt object itself; answers with what is left to register. */
export async function installKubeVirt(
  client: Client,
  version: KubeVirtVersion,
  authority: string,
): Promise<Registrations> {
  const items = await operatorsList(version)
  const of = (...kinds: readonly string[]) => items.filter(({ kind }) => kinds.includes(kind))
  const definitions = of('CustomResourceDefinition')
  const webhooks = of('MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration')
  const apiServices = of('APIService')
  const later = [...definitions, ...webhooks, ...apiServices]
  await define(client, ...definitions)
  await apply(client, aNamespace(kubevirtNamespace), ...items.filter(item => !later.includes(item)))
  await describeInstallation(client, authority)
  return { webhooks, apiServices }
}

async function operatorsList(version: KubeVirtVersion): Promise<Body[]> {
  const { stdout, stderr, status } = spawnSync(await kubevirtBinary('manifests', version), {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status !== 0) throw new Error(`the manifests of KubeVirt could not be printed: ${stderr}`)
  return (JSON.parse(stdout) as Body).items.map(withoutStatus)
}

/** Go prints an empty status with everything that has one. */
function withoutStatus(item: Body): Body {
  const { status: _, ...rest } = item
  return rest as Body
}

const configuration = {
  evictionStrategy: 'LiveMigrate',
  vmRolloutStrategy: 'LiveUpdate',
  // How a machine is on the network that takes the place of the pod network: KubeVirt does not know the binding by itself.
  network: { binding: { l2bridge: { domainAttachmentType: 'managedTap', migration: {} } } },
}

/** What the operator writes for the other programs to read. */
async function describeInstallation(client: Client, authority: string): Promise<void> {
  const metadata = (name: string) => ({ name, namespace: kubevirtNamespace })
  await apply(
    client,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata('kubevirt-ca'), data: { 'ca-bundle': authority } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata(virtApiService),
      // There is no kube-proxy; a name that leads to this machine is enough, since the registrations name the port.
      spec: { type: 'ExternalName', externalName: 'localhost' },
    },
    {
      apiVersion: 'kubevirt.io/v1',
      kind: 'KubeVirt',
      metadata: metadata('kubevirt'),
      spec: { configuration },
    },
  )
  await sayReady(client)
}

/** What the operator says when all components run as the KubeVirt object has it now. */
export async function sayReady(client: Client): Promise<void> {
  const path = `/apis/kubevirt.io/v1/namespaces/${kubevirtNamespace}/kubevirts/kubevirt`
  const { metadata } = must(await client.get(path))
  const conditions = [{ type: 'Available', status: 'True', reason: 'AllComponentsReady' }]
  const observedGeneration = metadata.generation
  const status = { phase: 'Deployed', defaultArchitecture: 'amd64', conditions, observedGeneration }
  must(await client.merge(`${path}/status`, { status }))
}

export const aNamespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
