// JSON Merge Patch (RFC 7386): null removes, objects merge, everything else replaces. One habit of kube-apiserver goes
// beyond the RFC: a value that lands where no object was is cleared of nulls all the way down, inside lists too.

import { clone, isObject, type JSONValue, setOwn } from '../object.ts'
import { badRequest } from '../status.ts'
import { toJSONKind } from './go-text.ts'

/** What a client sends must be an object: a merge patch that turns a whole object into a list or a word is refused. */
export function applyMergePatch(document: JSONValue, patch: JSONValue): JSONValue {
  if (patch === null) throw badRequest('Invalid JSON Patch')
  if (!isObject(patch)) {
    const found = `json: cannot unmarshal ${toJSONKind(patch)} into Go value of type map[string]interface {}`
    throw badRequest(`error decoding patch: ${found}`)
  }
  return mergePatch(document, patch)
}

/** The algorithm of the RFC; neither argument is changed or shared with the result. */
export function mergePatch(target: JSONValue, patch: JSONValue): JSONValue {
  if (!isObject(target)) return withoutNulls(patch)
  if (!isObject(patch)) return clone(patch)
  const merged: Record<string, JSONValue> = {}
  for (const key of Object.keys(target)) {
    const change = Object.hasOwn(patch, key) ? patch[key] : undefined
    if (change === null) continue
    const current = target[key] as JSONValue
    setOwn(merged, key, change === undefined ? clone(current) : mergePatch(current, change as JSONValue))
  }
  for (const key of Object.keys(patch)) {
    if (Object.hasOwn(target, key) || patch[key] === null) continue
    setOwn(merged, key, withoutNulls(patch[key] as JSONValue))
  }
  return merged
}

function withoutNulls(value: JSONValue): JSONValue {
  if (Array.isArray(value)) return value.map(item => (item === null ? null : withoutNulls(item)))
  if (!isObject(value)) return value
  const kept: Record<string, JSONValue> = {}
  for (const key of Object.keys(value)) {
    if (value[key] !== null) setOwn(kept, key, withoutNulls(value[key] as JSONValue))
  }
  return kept
}
