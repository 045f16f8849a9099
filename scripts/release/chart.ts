// The chart as it is installed: the templates of `charts/mooring`, and beside them, in `made`, what other files of the
// repository say already. Templates read it from there, so a permission or a webhook stands in one place only.

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseDocument } from 'yaml'
import { toMutatingConfiguration, toValidatingConfiguration } from '../../src/admission/registration.ts'
import { deskNames } from '../../src/cli/desks.ts'
import { fullPermissionSets, type PermissionSet, permissionSets } from '../../src/cli/permissions.ts'
import { userRoles } from '../../src/cli/user-roles.ts'
import type { Component, Permission } from '../../src/controllers/component.ts'
import { desks } from '../../src/controllers/desks.ts'
import { officeComponent } from '../../src/controllers/office/component.ts'
import {
  type Manifest,
  metricsReaderRules,
  nodeRules,
  plainInstall,
  toDefinitions,
  toYAML,
} from '../config/manifests.ts'
import { toPolicies } from '../config/policies.ts'
import { rulesOf } from '../config/rules.ts'
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

/** The version stands in package.json, desks in their table, and the image is chosen when a release is made. */
function stamped({ path, text }: ChartFile, version: string, image: string): ChartFile {
  if (path === 'Chart.yaml') {
    const chart = parseDocument(text)
    chart.set('version', version.slice(1))
    chart.set('appVersion', version)
    return { path, text: String(chart) }
  }
  if (path === 'values.schema.json') {
    const schema = JSON.parse(text) as { properties: { desks: object } }
    schema.properties.desks = { ...schema.properties.desks, minItems: 1, items: { enum: deskNames } }
    return { path, text: `${JSON.stringify(schema, null, 2)}\n` }
  }
  if (path !== 'values.yaml') return { path, text }
  const values = parseDocument(text)
  values.set('desks', values.createNode(deskNames))
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
    { path: 'made/ipamclaims.yaml', text: config('crd/networks/ipamclaims.k8s.cni.cncf.io.yaml') },
    { path: 'made/permissions.yaml', text: toYAML([permissions()]) },
    { path: 'made/users.yaml', text: toYAML([users()]) },
    { path: 'made/webhooks.yaml', text: toYAML([webhooks()]) },
    { path: 'made/alerts.yaml', text: config('prometheus/alerts.yaml') },
    { path: 'made/dashboard.json', text: config('grafana/mooring.json') },
  ]
}

/** Rules of each part of the controller, by where they are needed. Those for seeing are there for a desk that is off, too. */
function permissions(): Manifest {
  const parts = new Map(permissionSets(desks, deskNames).map(set => [set.name, set.permissions]))
  const ofPart = (name: string, isWanted: (permission: Permission) => boolean = () => true) =>
    rulesByScope({ name, permissions: parts.get(name)?.filter(isWanted) ?? [] })
  const ofDesk = (name: string) => ({
    seeing: ofPart(name, ({ isForSeeing }) => isForSeeing),
    working: ofPart(name, ({ isForSeeing }) => !isForSeeing),
    full: rulesInFull(fullPermissionSets(desks, [name])),
  })
  return {
    office: ofPart(officeComponent.name),
    desks: Object.fromEntries(deskNames.map(name => [name, ofDesk(name)])),
    election: ofPart('election'),
    diagnostics: ofPart('diagnostics'),
    registration: ofPart('registration'),
    metricsReader: metricsReaderRules,
    node: nodeRules,
  }
}

/** Of each role for users, the rules that the office and that each desk brings. */
function users(): Manifest {
  const roles = userRoles.map(({ name, aggregateTo = '', rulesOf }) => ({
    name,
    aggregateTo,
    office: rulesOf(officeComponent),
    desks: Object.fromEntries(desks.map(desk => [desk.name, rulesOf(desk)])),
  }))
  return { roles }
}

function rulesInFull(sets: readonly PermissionSet[]) {
  return {
    cluster: rulesOf(sets, ['cluster']),
    watched: rulesOf(sets, ['watched']),
    machines: rulesOf(sets, ['machines']),
  }
}

function rulesByScope(set: PermissionSet) {
  return {
    cluster: rulesOf([set], ['cluster']),
    watched: rulesOf([set], ['watched']),
    own: rulesOf([set], ['own']),
  }
}

function webhooks(): Manifest {
  return {
    office: webhooksOf(officeComponent),
    desks: Object.fromEntries(desks.map(desk => [desk.name, webhooksOf(desk)])),
  }
}

/** As they stand in the two configurations, and policies; templates put in where the API server reaches them, and names. */
function webhooksOf({ webhooks }: Component) {
  const registration = { address: { kind: 'service', namespace: '', name: '' } } as const
  return {
    mutating: toMutatingConfiguration(webhooks, registration).webhooks,
    validating: toValidatingConfiguration(webhooks, registration).webhooks,
    policies: toPolicies(webhooks, { namePrefix: '', labels: {} }),
  }
}

function nameOf(object: Manifest): string {
  return (object.metadata as { readonly name: string }).name
}
