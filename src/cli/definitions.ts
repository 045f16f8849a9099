// The definitions of kinds that components bring, read from `config`. The files serve one version each; where a converter runs,
// the older versions are served too.

import { readdirSync, readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import type { Conversion } from '../admission/conversion.ts'
import { toConversion, type WebhookAddress } from '../admission/registration.ts'
import type { Component } from '../controllers/component.ts'
import type { KubeObject } from '../kube/object.ts'

export interface Definition extends KubeObject {
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly object[]
  }
  readonly status?: {
    readonly conditions?:
      | readonly {
          readonly type: string
          readonly status: string
          readonly message?: string
        }[]
      | null
  }
}

/** In the order of the components. A folder of `config` stands for the files in it; an object for itself. */
export function definitionsOf(components: readonly Pick<Component, 'definitions'>[]): Definition[] {
  return components
    .flatMap(({ definitions }) => definitions)
    .flatMap(one => (typeof one === 'string' ? readFolder(one) : [one as Definition]))
}

/** Of kinds that other products bring. */
export function standInsOf(components: readonly Pick<Component, 'standIns'>[]): Definition[] {
  return components.flatMap(({ standIns = [] }) => standIns).flatMap(readFolder)
}

/** Of kinds that a desk needs and that no other product may have brought: each as it is written in `config`. */
export function ownDefinitionsOf({
  kinds,
}: Pick<Component, 'kinds'>): { readonly path: string; readonly text: string }[] {
  return kinds.flatMap(({ definition: path }) => (path === undefined ? [] : [{ path, text: readConfig(path) }]))
}

const config = ['..', '..', 'config', ''].join('/')
const readConfig = (path: string): string => readFileSync(new URL(`${config}${path}`, import.meta.url), 'utf8')

function readFolder(path: string): Definition[] {
  const folder = new URL(`${config}${path}`, import.meta.url)
  return readdirSync(folder)
    .filter(file => file.endsWith('.yaml'))
    .toSorted()
    .flatMap(file => parseAllDocuments(readFileSync(new URL(file, folder), 'utf8')))
    .map(document => document.toJS() as Definition)
}

/** A kind of several versions between which a component converts. */
export function needsConversion({ spec }: Definition, conversions: readonly Conversion[]): boolean {
  const isConverted = conversions.some(({ group, kinds }) => group === spec.group && kinds.includes(spec.names.kind))
  return isConverted && spec.versions.length > 1
}

export function withConversion(
  definition: Definition,
  conversions: readonly Conversion[],
  address: WebhookAddress,
): Definition {
  if (!needsConversion(definition, conversions)) return definition
  const { spec } = definition
  // The files do not serve the older version, because without a converter it would show the newer one's fields.
  const versions = spec.versions.map(version => ({ ...version, served: true }))
  return { ...definition, spec: { ...spec, versions, conversion: toConversion(address) } } as Definition
}
