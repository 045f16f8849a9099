// The `fieldPath` of a rule: a JSON path of fields and map keys that the schema beneath the rule must have.

import { at } from '../faults.ts'
import type { Node } from '../schema/node.ts'

/** The path as faults write it (`.a.b[c]`), or what is wrong with it. */
export function normalFieldPath(path: string, node: Node): string | Error {
  const found = followPath(path, node, true)
  return found instanceof Error ? found : found.path
}

/** Where a JSON path leads. */
export function followPath(path: string, node: Node, allowsKeys: boolean): { path: string; node: Node } | Error {
  const tokens = tokenize(path)
  let current = node
  let made = ''
  for (let i = 0; i < tokens.length; i++) {
    const opening = tokens[i]
    if (opening !== '.' && opening !== '[') return new Error(`expected [ or . but got: ${opening}`)
    if (opening === '[' && !allowsKeys) return new Error('array notation is not allowed')
    const token = tokens[++i]
    if (token === undefined) return new Error('unexpected end of JSON path')
    const name = opening === '.' ? token : unquote(token)
    if (name instanceof Error) return name
    const next = step(current, name)
    if (next === undefined) return new Error('does not refer to a valid field')
    made = current.properties.size > 0 ? `${made}.${name}` : at(made, name)
    current = next
    if (opening === '.') continue
    const closing = tokens[++i]
    if (closing === undefined) return new Error('unexpected end of JSON path')
    if (closing !== ']') return new Error(`expected ] but got ${closing}`)
  }
  return { path: made, node: current }
}

function step(node: Node, name: string): Node | undefined {
  if (node.properties.size > 0) return node.properties.get(name)
  return typeof node.additional === 'object' ? node.additional : undefined
}

function tokenize(path: string): string[] {
  return path.match(/'(?:\\.|[^'\\])*'?|[.[\]]|[^.[\]']+/g) ?? []
}

function unquote(token: string): string | Error {
  if (token.length < 2 || !token.startsWith("'") || !token.endsWith("'")) {
    return new Error(`expected single quoted string but got ${token}`)
  }
  return token.slice(1, -1).replace(/\\(.)/g, (_, char: string) => escapes.get(char) ?? char)
}

const escapes = new Map([
  ['a', '\u0007'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
])
