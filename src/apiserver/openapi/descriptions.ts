// The descriptions of built-in types and fields, which `kubectl explain` shows. The texts come from the declaration
// files of the `kubernetes-types` package; they are read when the first OpenAPI document is asked for, and whatever is
// missing there is simply published without a description.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

export interface TypeDescription {
  readonly text: string | undefined
  readonly fields: ReadonlyMap<string, string>
}

export interface Descriptions {
  /** By the published name of the type, e.g. `io.k8s.api.core.v1.Pod`. */
  of(schemaName: string): TypeDescription | undefined
}

/** `readText` gets a path within the package (`core/v1.d.ts`) and answers undefined when there is no such file. */
export function createDescriptions(readText: (path: string) => string | undefined = readFromPackage): Descriptions {
  const files = new Map<string, ReadonlyMap<string, TypeDescription>>()
  return {
    of(schemaName) {
      const place = placeOf(schemaName)
      if (place === undefined) return undefined
      let types = files.get(place.path)
      if (types === undefined) {
        types = scanDeclarations(readText(place.path) ?? '')
        files.set(place.path, types)
      }
      return types.get(place.type)
    },
  }
}

function readFromPackage(path: string): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve('kubernetes-types/package.json')
    return readFileSync(new URL(path, `file://${manifest}`), 'utf8')
  } catch {
    return undefined
  }
}

const places: readonly [prefix: RegExp, path: (match: RegExpExecArray) => string][] = [
  [/^io\.k8s\.api\.([a-z]+)\.(v[a-z0-9]+)\./, match => `${match[1]}/${match[2]}.d.ts`],
  [/^io\.k8s\.apimachinery\.pkg\.apis\.meta\.(v[a-z0-9]+)\./, match => `meta/${match[1]}.d.ts`],
  [
    /^io\.k8s\.apiextensions-apiserver\.pkg\.apis\.apiextensions\.(v[a-z0-9]+)\./,
    match => `apiextensions/${match[1]}.d.ts`,
  ],
  [/^io\.k8s\.apimachinery\.pkg\.api\.resource\./, () => 'api/resource.d.ts'],
  [/^io\.k8s\.apimachinery\.pkg\.runtime\./, () => 'runtime.d.ts'],
]

function placeOf(schemaName: string): { path: string; type: string } | undefined {
  for (const [prefix, path] of places) {
    const match = prefix.exec(schemaName)
    if (match !== null) return { path: path(match), type: schemaName.slice(match[0].length) }
  }
  return undefined
}

/** The documented types of a declaration file. Lines are enough: the files are printed by a compiler. */
export function scanDeclarations(source: string): Map<string, TypeDescription> {
  const types = new Map<string, TypeDescription>()
  const lines = source.split('\n')
  let comment: string | undefined
  let fields = new Map<string, string>()
  let depth = 0
  for (let i = 0; i < lines.length; i++) {
    const line = (lines[i] ?? '').trim()
    if (line.startsWith('/**')) {
      const parts = [line]
      while (!(lines[i] ?? '').trimEnd().endsWith('*/') && i + 1 < lines.length) parts.push((lines[++i] ?? '').trim())
      comment = toText(parts)
      continue
    }
    if (depth === 0) {
      const declared = /^export (?:declare )?(?:interface|type) (\w+)/.exec(line)
      const name = declared?.[1]
      if (name !== undefined) {
        fields = new Map()
        types.set(name, { text: comment, fields })
      }
    } else if (depth === 1 && comment !== undefined) {
      const field = /^(?:readonly )?(?:"([^"]+)"|([\w$]+))\??:/.exec(line)
      const name = field?.[1] ?? field?.[2]
      if (name !== undefined) fields.set(name, comment)
    }
    if (line !== '') comment = undefined
    depth += count(line, '{') - count(line, '}')
  }
  return types
}

function toText(lines: readonly string[]): string {
  const body = lines.map((line, i) => {
    const open = i === 0 ? line.replace(/^\/\*\*\s?/, '') : line.replace(/^\*(?!\/) ?/, '')
    return i === lines.length - 1 ? open.replace(/\s*\*\/$/, '') : open
  })
  return body.join('\n').replaceAll('*\\/', '*/').trim()
}

function count(text: string, character: string): number {
  let found = 0
  for (const candidate of text) if (candidate === character) found++
  return found
}
