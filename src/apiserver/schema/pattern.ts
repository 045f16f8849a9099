// Regular expressions with Go's meaning (RE2) and Go's promise: the time to match grows with the length of the text and
// nothing else. Patterns come from the authors of CustomResourceDefinitions, and with a backtracking engine one object
// of a few dozen characters could block the whole server.

import { RE2JS } from 're2js'

export interface Pattern {
  readonly source: string
  test(text: string): boolean
  /** The first match, or undefined. */
  find(text: string): string | undefined
  /** Matches from left to right, without overlap, at most `limit` of them when it is not negative. */
  findAll(text: string, limit: number): string[]
}

/** Patterns repeat for every object of a kind; the bound keeps hostile ones from growing the cache forever. */
const cacheMax = 2_000
const cache = new Map<string, Pattern | Error>()

/** Throws what Go's compiler would complain about: `error parsing regexp: ...`. */
export function compilePattern(source: string): Pattern {
  const known = cache.get(source)
  if (known instanceof Error) throw known
  if (known !== undefined) return known
  if (cache.size >= cacheMax) cache.clear()
  const made = make(source)
  cache.set(source, made)
  if (made instanceof Error) throw made
  return made
}

function make(source: string): Pattern | Error {
  try {
    const engine = RE2JS.compile(source)
    const prefix = literalPrefix(source)
    if (prefix !== undefined) return { ...slow(source, engine), test: text => text.startsWith(prefix) }
    return slow(source, engine)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    return new Error(why.startsWith('error parsing regexp') ? why : `error parsing regexp: ${why}`, { cause })
  }
}

function slow(source: string, engine: RE2JS): Pattern {
  return {
    source,
    test: text => engine.matcher(text).find(),
    find: text => {
      const matcher = engine.matcher(text)
      return matcher.find() ? (matcher.group() ?? undefined) : undefined
    },
    findAll: (text, limit) => {
      const found: string[] = []
      const matcher = engine.matcher(text)
      while ((limit < 0 || found.length < limit) && matcher.find()) found.push(matcher.group() ?? '')
      return found
    },
  }
}

/** `^abc` is a comparison, not a search; the one shape where the answer needs no engine at all. */
function literalPrefix(source: string): string | undefined {
  return /^\^[A-Za-z0-9_/:@ -]+$/.test(source) ? source.slice(1) : undefined
}
