// YAML from clients, parsed within bounds.

import { type Document, isScalar, LineCounter, type Node, parseDocument, visit } from 'yaml'
import { yamlAliasesMax } from '../limits.ts'
import { refuseYAMLBombs } from '../yaml.ts'
import { quote } from './faults.ts'
import type { JSONValue } from './object.ts'

export interface ReadYAML {
  readonly value: JSONValue
  /** Sentences about keys that stand twice in one map; the last one counts. */
  readonly repeated: readonly string[]
}

/** Throws an `Error` whose message says what is wrong with the text. */
export function readYAML(text: string): ReadYAML {
  refuseYAMLBombs(text)
  const lines = new LineCounter()
  const document = parseDocument(text, {
    version: '1.1',
    merge: true,
    // Done below: the reader compares every key with every other.
    uniqueKeys: false,
    lineCounter: lines,
    // What a client writes is not a warning about this process.
    logLevel: 'error',
    customTags: tags => tags.filter(tag => typeof tag === 'string' || !foreignTags.has(tag.tag)),
  })
  const [fault] = document.errors
  if (fault !== undefined) throw fault
  settleScalars(document)
  return {
    value: document.toJS({ maxAliasCount: yamlAliasesMax }) as JSONValue,
    repeated: repeatedKeys(document, lines),
  }
}

/** Types of YAML that JSON has no form for: left alone, they would arrive as objects that are not plain. */
const foreignTags = new Set(['binary', 'omap', 'pairs', 'set', 'timestamp'].map(name => `tag:yaml.org,2002:${name}`))

/**
 * Integers beyond 2^53 stay exact, as in JSON; a number that JSON has no form for, and a node that contains itself, are
 * refused as Go's reader refuses them.
 */
function settleScalars(document: Document): void {
  const anchored = new Map<string, unknown>()
  const note = (node: Node) => {
    if (node.anchor !== undefined) anchored.set(node.anchor, node)
  }
  visit(document, {
    Collection: (_, collection) => note(collection),
    Scalar(_, scalar) {
      note(scalar)
      const { value, source = '' } = scalar
      if (typeof value !== 'number' || Number.isSafeInteger(value)) return
      if (Number.isNaN(value)) throw new Error('json: unsupported value: NaN')
      if (!Number.isFinite(value)) throw new Error(`json: unsupported value: ${value > 0 ? '+' : '-'}Inf`)
      if (/^(0x[0-9a-f]+|[1-9]\d*)$/i.test(source)) scalar.value = BigInt(source)
      else if (/^-[1-9]\d*$/.test(source)) scalar.value = -BigInt(source.slice(1))
    },
    Alias(_, alias, path) {
      const target = anchored.get(alias.source)
      if (path.some(node => node === target)) throw new Error(`yaml: anchor '${alias.source}' value contains itself`)
    },
  })
}

function repeatedKeys(document: Document, lines: LineCounter): string[] {
  const repeated: string[] = []
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        if (!isScalar(key) || key.value === '<<') continue
        if (seen.has(key.value)) {
          const { line } = lines.linePos(key.range?.[0] ?? 0)
          repeated.push(`line ${line}: key ${quote(String(key.value))} already set in map`)
        }
        seen.add(key.value)
      }
    },
  })
  return repeated
}
