// Values as Go prints them with %v. Several of Kubernetes' refusals quote a part of the patch in this form, and users
// search for those messages.

import { isObject } from '../object.ts'

export function toGoText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(toGoText).join(' ')}]`
  if (!isObject(value)) return String(value as string | number | bigint | boolean)
  const fields = Object.keys(value).sort()
  return `map[${fields.map(key => `${key}:${toGoText(value[key])}`).join(' ')}]`
}

/** Values as Go writes them in source, which is what %#v prints. */
export function toGoSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)'
  if (Array.isArray(value)) return `[]interface {}{${value.map(toGoSyntax).join(', ')}}`
  if (!isObject(value))
    return typeof value === 'string' ? JSON.stringify(value) : String(value as number | bigint | boolean)
  const fields = Object.keys(value).sort()
  return `map[string]interface {}{${fields.map(key => `${JSON.stringify(key)}:${toGoSyntax(value[key])}`).join(', ')}}`
}

/** The name Go has for the type of a decoded JSON value. */
export function toGoType(value: unknown): string {
  if (value === null || value === undefined) return '%!s(<nil>)'
  if (Array.isArray(value)) return '[]interface {}'
  if (isObject(value)) return 'map[string]interface {}'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  return typeof value === 'number' && !Number.isInteger(value) ? 'float64' : 'int64'
}

/** What Go's JSON decoder calls a value that has the wrong type. */
export function toJSONKind(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (isObject(value)) return 'object'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'string' ? 'string' : 'number'
}
