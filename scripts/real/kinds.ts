// The kinds that are shipped, read once, and put into a server.

import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { parseAllDocuments } from 'yaml'
import type { Client } from '../../src/kube/client.ts'
import { defineKind, type KubeObject } from '../../src/kube/object.ts'

export const definitionKind = defineKind<KubeObject>({
  group: 'apiextensions.k8s.io',
  versions: ['v1'],
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
})

const folders = ['', 'cluster-api/', 'networks/', 'kubevirt/', 'machine/', 'harvester/'].map(
  folder => new URL(`../../config/crd/${folder}`, import.meta.url),
)

export const shippedDefinitions: readonly KubeObject[] = folders.flatMap(folder =>
  readdirSync(folder)
    .filter(file => file.endsWith('.yaml'))
    .toSorted()
    .flatMap(file => parseAllDocuments(readFileSync(new URL(file, folder), 'utf8')))
    .map(document => document.toJS() as KubeObject),
)

/** Resolves when all of them are served. */
export async function installKinds(client: Client, definitions: readonly KubeObject[]): Promise<void> {
  for (const definition of definitions) await client.create(definitionKind, definition)
  for (const { metadata } of definitions) {
    while (!isEstablished(await client.get(definitionKind, { name: metadata.name ?? '' }))) await delay(50)
  }
}

function isEstablished(definition: unknown): boolean {
  const { status } = definition as { status?: { conditions?: { type: string; status: string }[] } }
  return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false
}
