// The definitions of kinds that are installed, read from `config/crd`. The files serve one version each; where a converter
// runs, the older versions are served too.

import { readdirSync, readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import { toConversion, type WebhookAddress } from '../admission/registration.ts'
import type { KubeObject } from '../kube/object.ts'

export interface Definition extends KubeObject {
  readonly spec: { readonly names: { readonly kind: string }; readonly versions: readonly object[] }
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null }
}

/** The kinds of Mooring and of the in-cluster provider. */
export function ownDefinitions(): Definition[] {
  return readFolder('crd/')
}

/** Those of Cluster API that a desk needs: for a server where no Cluster API is installed. */
export function coreDefinitions(): Definition[] {
  return readFolder('crd/cluster-api/')
}

const config = ['..', '..', 'config', ''].join('/')

function readFolder(path: string): Definition[] {
  const folder = new URL(`${config}${path}`, import.meta.url)
  return readdirSync(folder)
    .filter(file => file.endsWith('.yaml'))
    .toSorted()
    .flatMap(file => parseAllDocuments(readFileSync(new URL(file, folder), 'utf8')))
    .map(document => document.toJS() as Definition)
}

/** A kind of ours with more than one version is converted by us. */
export function needsConversion({ spec }: Definition): boolean {
  const isOurs = spec.names.kind.startsWith('InCluster') || spec.names.kind.startsWith('GlobalInCluster')
  return isOurs && spec.versions.length > 1
}

export function withConversion(definition: Definition, address: WebhookAddress): Definition {
  if (!needsConversion(definition)) return definition
  const { spec } = definition
  // The files do not serve the older version, because without a converter it would show the newer one's fields.
  const versions = spec.versions.map(version => ({ ...version, served: true }))
  return { ...definition, spec: { ...spec, versions, conversion: toConversion(address) } } as Definition
}
