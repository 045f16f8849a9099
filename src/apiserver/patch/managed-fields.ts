// `metadata.managedFields`, decoded: one entry per manager, operation and subresource (and per
// version, for updates), each with the set of fields it owns.

import type { JSONObject, ManagedFieldsEntry } from '../object.ts'
import { decodeFields, encodeFields, type FieldSet } from './field-set.ts'

export interface Manager {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly subresource: string
  readonly apiVersion: string
  readonly fields: FieldSet
  readonly time: string | undefined
}

/** Keyed by `idOf`, so that a second write of one manager finds its entry. */
export type Managers = Map<string, Manager>

/** An applier stays the same whatever version it speaks; an updater is another one for each version. */
export function idOf(manager: Pick<Manager, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): string {
  return JSON.stringify({
    ...(manager.manager !== '' && { manager: manager.manager }),
    operation: manager.operation,
    ...(manager.operation === 'Update' && { apiVersion: manager.apiVersion }),
    ...(manager.subresource !== '' && { subresource: manager.subresource }),
  })
}

/** Throws on entries that Kubernetes would not have written. */
export function decodeManagers(entries: readonly ManagedFieldsEntry[]): Managers {
  const managers: Managers = new Map()
  for (const [i, entry] of entries.entries()) {
    const { operation, apiVersion } = entry
    if (operation !== 'Apply' && operation !== 'Update') throw new Error('operation must be `Apply` or `Update`')
    if (apiVersion === undefined || apiVersion === '') throw new Error('apiVersion must not be empty')
    if (entry.fieldsType === undefined || entry.fieldsType === '') {
      throw new Error(`missing fieldsType in managed fields entry ${i}`)
    }
    if (entry.fieldsType !== 'FieldsV1') {
      throw new Error(`invalid fieldsType ${JSON.stringify(entry.fieldsType)} in managed fields entry ${i}`)
    }
    const manager: Manager = {
      manager: entry.manager ?? '',
      operation,
      apiVersion,
      subresource: entry.subresource ?? '',
      fields: decodeFields(entry.fieldsV1 ?? {}),
      time: entry.time,
    }
    managers.set(idOf(manager), manager)
  }
  return managers
}

/** Appliers first, then by time, so that the last one to write stands last. */
export function encodeManagers(managers: Managers): ManagedFieldsEntry[] {
  return [...managers.values()].sort(compareManagers).map(toEntry)
}

function toEntry(manager: Manager): ManagedFieldsEntry {
  return {
    ...(manager.manager !== '' && { manager: manager.manager }),
    operation: manager.operation,
    apiVersion: manager.apiVersion,
    ...(manager.time !== undefined && { time: manager.time }),
    fieldsType: 'FieldsV1',
    fieldsV1: encodeFields(manager.fields) as JSONObject,
    ...(manager.subresource !== '' && { subresource: manager.subresource }),
  }
}

function compareManagers(a: Manager, b: Manager): number {
  return (
    compareText(a.operation, b.operation) ||
    secondsOf(a) - secondsOf(b) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  )
}

export function secondsOf({ time }: Manager): number {
  const ms = time === undefined ? 0 : Date.parse(time)
  return Number.isNaN(ms) ? 0 : Math.floor(ms / 1000)
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Kubernetes keeps whole seconds. */
export function toTime(now: Date): string {
  return `${now.toISOString().slice(0, 19)}Z`
}
