// Objects as a table, which is how `kubectl get` asks for them: the server knows the columns, so a client prints kinds
// it has never heard of. And objects reduced to their metadata, for clients that want no more.

import { stringify } from '../../json.ts'
import type { PrinterColumn, ServedKind } from '../kinds/kind.ts'
import type { KubeObject, ObjectMeta } from '../object.ts'
import { badRequest, notAcceptable } from '../status.ts'
import {
  type Cell,
  type ColumnDefinition,
  type Columns,
  columnsOf,
  creationDescription,
  nameColumn,
  type RowCondition,
} from './builtin-columns.ts'
import { since } from './duration.ts'
import { type JSONPath, parseJSONPath } from './jsonpath.ts'

/** The same for every kind that has such a subresource. */
const scaleColumns = columnsOf({ group: 'autoscaling', kind: 'Scale' })

export type MetaVersion = 'v1' | 'v1beta1'
export type IncludeObject = 'None' | 'Metadata' | 'Object'

export interface ListMeta {
  resourceVersion?: string
  continue?: string
  remainingItemCount?: number
}

export interface TableOptions {
  readonly now: Date
  /** Of the list, or of the one object. */
  readonly metadata: ListMeta
  readonly version?: MetaVersion
  readonly includeObject?: IncludeObject
  /** A watch names its columns once, with the first event. */
  readonly withHeaders?: boolean
}

export interface TableRow {
  cells: Cell[]
  conditions?: RowCondition[]
  object?: object | null
}

export interface Table {
  kind: 'Table'
  apiVersion: string
  metadata: ListMeta
  columnDefinitions: readonly ColumnDefinition[] | null
  rows: TableRow[]
}

export interface PartialObjectMetadata {
  kind: 'PartialObjectMetadata'
  apiVersion: string
  metadata: ObjectMeta
}

/** Reads the `includeObject` parameter; throws a 400 Status when it is not one of the four words. */
export function parseIncludeObject(value: string | null): IncludeObject {
  if (value === null || value === '' || value === 'Metadata') return 'Metadata'
  if (value === 'None' || value === 'Object') return value
  const why = `includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`
  throw badRequest(`Unable to convert to Table as requested: ${why}`)
}

/** Only kinds that can be read have tables; access reviews and the like do not. */
export function hasTable(kind: ServedKind): boolean {
  return kind.verbs.includes('get') || kind.verbs.includes('list')
}

export function toTable(kind: ServedKind, objects: readonly KubeObject[], options: TableOptions): Table {
  if (!hasTable(kind)) {
    throw notAcceptable(
      'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    )
  }
  const { now, version = 'v1', includeObject = 'Metadata', withHeaders = true } = options
  const isScale = objects.some(object => object.kind === 'Scale' && object.apiVersion === 'autoscaling/v1')
  const columns = isScale ? scaleColumns : kind.isCustom ? customColumns(kind) : columnsOf(kind)
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: options.metadata,
    columnDefinitions: withHeaders ? columns.definitions : null,
    rows: objects.map(object => {
      const conditions = columns.conditions?.(object)
      return {
        cells: columns.cells(object, now),
        ...(conditions !== undefined && { conditions }),
        object: toRowObject(object, includeObject, version),
      }
    }),
  }
}

function toRowObject(object: KubeObject, include: IncludeObject, version: MetaVersion): object | null {
  if (include === 'None') return null
  return include === 'Object' ? object : partialMetadata(object, version)
}

export function partialMetadata(object: KubeObject, version: MetaVersion = 'v1'): PartialObjectMetadata {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata }
}

const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  description: creationDescription,
  jsonPath: '.metadata.creationTimestamp',
}

// Paths are read once per kind, not once per row.
const madeColumns = new WeakMap<ServedKind, Columns>()

function customColumns(kind: ServedKind): Columns {
  const made = madeColumns.get(kind)
  if (made !== undefined) return made
  const given = kind.columns !== undefined && kind.columns.length > 0 ? kind.columns : [ageColumn]
  const readable = given.flatMap(column => {
    const path = tryPath(column.jsonPath)
    return path === undefined ? [] : [{ column, path }]
  })
  const columns: Columns = {
    definitions: [nameColumn, ...readable.map(({ column }) => toDefinition(column))],
    cells: (object, now) => [
      object.metadata.name ?? '',
      ...readable.map(({ column, path }) => toCell(column.type, path(object)[0], now)),
    ],
  }
  madeColumns.set(kind, columns)
  return columns
}

/** Definitions are checked when they are written; one that slipped through loses its column, not its table. */
function tryPath(text: string): JSONPath | undefined {
  try {
    return parseJSONPath(text)
  } catch {
    return undefined
  }
}

function toDefinition(column: PrinterColumn): ColumnDefinition {
  return {
    name: column.name,
    type: column.type,
    format: column.format ?? '',
    description: column.description || `Custom resource definition column (in JSONPath format): ${column.jsonPath}`,
    priority: column.priority ?? 0,
  }
}

function toCell(type: string, value: unknown, now: Date): Cell {
  if (value === undefined || value === null) return null
  switch (type) {
    case 'integer':
      if (typeof value === 'bigint') return value
      return typeof value === 'number' ? Math.trunc(value) : null
    case 'number':
      return typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      if (typeof value !== 'string') return null
      return Number.isNaN(Date.parse(value)) ? '<invalid>' : since(value, now)
    case 'string':
      if (typeof value === 'string') return value
      return stringify(value)
    default:
      return null
  }
}
