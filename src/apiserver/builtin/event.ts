// Events: what happened to an object. Two groups show the same stored events under different field names, so there are
// two views and one storage, which has the names of the older group.

import { type Fault, invalid, required } from '../faults.ts'
import type { Behaviour } from '../kinds/kind.ts'
import { checkQualifiedName } from '../names.ts'
import type { KubeObject } from '../object.ts'
import { type Fields, isAbsent, part, text } from './fields.ts'

/** Field names of the older group and of the newer one; every other field has one name. */
const renamed: readonly (readonly [core: string, newer: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
]
const toNewer = new Map(renamed)
const toCore = new Map(renamed.map(([core, newer]) => [newer, core] as const))

export function toCoreEvent(event: KubeObject): KubeObject {
  return rename(event, 'v1', toCore)
}

export function toEventsV1(event: KubeObject): KubeObject {
  const view = rename(event, 'events.k8s.io/v1', toNewer)
  // The older group writes these even when they are empty, the newer one does not.
  for (const field of ['reportingController', 'reportingInstance']) if (view[field] === '') delete view[field]
  return view
}

function rename(event: KubeObject, apiVersion: string, names: ReadonlyMap<string, string>): KubeObject {
  const { apiVersion: _, kind, metadata, ...fields } = event
  const view: KubeObject = { apiVersion, kind, metadata }
  for (const [field, value] of Object.entries(fields)) view[names.get(field) ?? field] = value
  return view
}

const referenceFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']

/** Selectors name the fields of their group, and look at stored events as well as at their views. */
function fieldsOf(reference: string, reporter: string): NonNullable<Behaviour['fields']> {
  const stored = toCore.get(reference) ?? reference
  const storedReporter = toCore.get(reporter) ?? reporter
  const ofReference = referenceFields.map(field => [
    `${reference}.${field}`,
    (event: KubeObject) => text((part(event, reference) ?? part(event, stored))?.[field]),
  ])
  return {
    ...Object.fromEntries(ofReference),
    reason: event => text(event.reason),
    [reporter]: event => text(event[reporter] ?? event[storedReporter]),
    type: event => text(event.type),
  }
}

export const coreEvents: Behaviour = {
  validate: event => checkEvent(event, 'reportingComponent'),
  fields: {
    ...fieldsOf('involvedObject', 'reportingComponent'),
    source: event => text(part(event, 'source')?.component) || text(event.reportingComponent),
  },
  nameRule: 'path-segment',
}

export const newerEvents: Behaviour = {
  validate: event => checkEvent(toCoreEvent(event), 'reportingController'),
  validateNew: checkNewerEvent,
  fields: fieldsOf('regarding', 'reportingController'),
  nameRule: 'dns-subdomain',
}

const reasonMax = 128
const noteMax = 1024

function checkEvent(event: KubeObject, reporter: string): Fault[] {
  const about = text(part(event, 'involvedObject')?.namespace)
  const namespace = event.metadata.namespace ?? ''
  const mismatch = invalid('involvedObject.namespace', about, 'does not match event.namespace')
  if (isAbsent(event.eventTime)) {
    const matches = about === '' ? namespace === '' || namespace === 'default' : namespace === about
    return matches ? [] : [mismatch]
  }
  const faults: Fault[] = []
  if (about === '' && namespace !== 'default' && namespace !== 'kube-system') faults.push(mismatch)
  const controller = text(event.reportingComponent)
  if (controller === '') faults.push(required(reporter))
  faults.push(...checkQualifiedName(controller).map(why => invalid(reporter, controller, why)))
  return [
    ...faults,
    ...checkLength(event, 'reportingInstance', reasonMax, true),
    ...checkLength(event, 'action', reasonMax, true),
    ...checkLength(event, 'reason', reasonMax, true),
    ...checkLength(event, 'message', noteMax, false),
  ]
}

function checkLength(event: Fields, field: string, max: number, isRequired: boolean): Fault[] {
  const value = text(event[field])
  if (isRequired && value === '') return [required(field)]
  return Buffer.byteLength(value) > max ? [invalid(field, '', `can have at most ${max} characters`)] : []
}

function checkNewerEvent(event: KubeObject): Fault[] {
  const faults: Fault[] = []
  if (isAbsent(event.eventTime)) faults.push(required('eventTime'))
  if (!['Normal', 'Warning'].includes(text(event.type))) {
    faults.push(invalid('type', '', `has invalid value: ${text(event.type)}`))
  }
  const mustBeUnset = (field: string, name: string): void => {
    if (!isAbsent(event[field]) && event[field] !== 0) faults.push(invalid(name, '', 'needs to be unset'))
  }
  mustBeUnset('deprecatedFirstTimestamp', 'firstTimestamp')
  mustBeUnset('deprecatedLastTimestamp', 'lastTimestamp')
  mustBeUnset('deprecatedCount', 'count')
  if (Object.keys(part(event, 'deprecatedSource') ?? {}).length > 0) {
    faults.push(invalid('source', '', 'needs to be unset'))
  }
  return faults
}
