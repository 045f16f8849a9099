// How the name of a field is spelled inside a CEL rule: reserved words get underscores around them, and the characters
// that an identifier cannot hold are written as words.

const reserved: ReadonlySet<string> = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
])

const words: readonly (readonly [RegExp, string])[] = [
  [/__/g, '__underscores__'],
  [/\./g, '__dot__'],
  [/-/g, '__dash__'],
  [/\//g, '__slash__'],
]

/** The identifier for a field, or undefined when rules cannot reach it. */
export function escapeField(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`
  if (!/^[A-Za-z_.\-/][A-Za-z0-9_.\-/]*$/.test(name)) return undefined
  return words.reduce((text, [pattern, word]) => text.replace(pattern, word), name)
}
