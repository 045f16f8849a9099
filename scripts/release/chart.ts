// The chart as it is installed: the templates of `charts/mooring`, and beside them, in `made`, what other files of the
// repository say already. Templates read it from there, so a right or a review stands in one place only.

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseDocument } from 'yaml'
import type { Manifest } from '../config/manifests.ts'
import { plainInstall, toDefinitions, toRBAC, toWebhooks, toYAML } from '../config/manifests.ts'
import { repository } from './repository.ts'

export interface ChartFile {
  /** Below the folder of the chart. */
  readonly path: string
  readonly text: string
}

/** Every file of the chart, in an order that does not depend on the machine. */
export function readChart(version: string, image: string): ChartFile[] {
  const folder = join(repository, 'charts', 'mooring')
  const kept = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)))
    .map(path => ({ path, text: readFileSync(join(folder, path), 'utf8') }))
  return [...kept.map(file => stamped(file, version, image)), ...madeFiles()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** The version stands in package.json, the image is chosen by who makes the release. */
function stamped({ path, text }: ChartFile, version: string, image: string): ChartFile {
  if (path === 'Chart.yaml') {
    const chart = parseDocument(text)
    chart.set('version', version.slice(1))
    chart.set('appVersion', version)
    return { path, text: String(chart) }
  }
  if (path !== 'values.yaml') return { path, text }
  const values = parseDocument(text)
  const { repository: name, tag, digest } = splitImage(image)
  values.setIn(['image', 'repository'], name)
  values.setIn(['image', 'tag'], tag === version ? '' : tag)
  values.setIn(['image', 'digest'], digest)
  return { path, text: String(values) }
}

/** `example.com:5000/mooring:v1` and `example.com/mooring@sha256:...`: a colon before a slash belongs to a port. */
export function splitImage(image: string): { repository: string; tag: string; digest: string } {
  const [name = '', digest = ''] = image.split('@')
  const colon = name.lastIndexOf(':')
  const hasTag = colon > name.lastIndexOf('/')
  return { repository: hasTag ? name.slice(0, colon) : name, tag: hasTag ? name.slice(colon + 1) : '', digest }
}

function madeFiles(): ChartFile[] {
  const config = (path: string) => readFileSync(join(repository, 'config', path), 'utf8')
  return [
    ...toDefinitions(plainInstall).map(definition => ({
      path: `made/crds/${nameOf(definition)}.yaml`,
      text: toYAML([definition]),
    })),
    { path: 'made/rights.yaml', text: toYAML([rights()]) },
    { path: 'made/reviews.yaml', text: toYAML([reviews()]) },
    { path: 'made/alerts.yaml', text: config('prometheus/alerts.yaml') },
    { path: 'made/dashboard.json', text: config('grafana/mooring.json') },
  ]
}

/** Rules by where they are needed. */
function rights(): Manifest {
  const everywhere = toRBAC(plainInstall)
  const oneNamespace = toRBAC({ ...plainInstall, watchedNamespace: 'watched' })
  return {
    everywhere: rulesOf(everywhere, 'ClusterRole', 'mooring-controller'),
    cluster: rulesOf(oneNamespace, 'ClusterRole', 'mooring-controller'),
    watched: rulesOf(oneNamespace, 'Role', 'mooring-controller'),
    own: rulesOf(everywhere, 'Role', 'mooring-controller-lease'),
    metricsReader: rulesOf(everywhere, 'ClusterRole', 'mooring-metrics-reader'),
  }
}

function rulesOf(objects: readonly Manifest[], kind: string, name: string): unknown {
  const role = objects.find(object => object.kind === kind && nameOf(object) === name)
  if (!role) throw new Error(`there is no ${kind} ${name}`)
  return role.rules
}

function reviews(): Manifest {
  const objects = toWebhooks(plainInstall)
  const ofKind = (kind: string) => objects.find(object => object.kind === kind)?.webhooks ?? []
  return {
    mutating: ofKind('MutatingWebhookConfiguration'),
    validating: ofKind('ValidatingWebhookConfiguration'),
  }
}

function nameOf(object: Manifest): string {
  return (object.metadata as { readonly name: string }).name
}
