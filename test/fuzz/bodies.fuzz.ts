import { isDeepStrictEqual } from 'node:util'
import { readYAML } from '../../src/apiserver/yaml.ts'
import { JSONSyntaxError, type JSONValue, parseJSON, setOwn, stringify } from '../../src/json.ts'
import { type FuzzTarget, must, unlessRefused } from './target.ts'

export const jsonBodies: FuzzTarget = {
  name: 'JSON bodies',
  corpus: [
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"__proto__":"x","constructor":"y"}}',
    '[1e999,0,9007199254740993,"\\ud800","\\u0000",true,null,{"a":1,"a":2}]',
    '['.repeat(50),
    `{"a":${'9'.repeat(200_000)}}`,
    `{"${'k'.repeat(100_000)}":{${'"a":1,'.repeat(10_000)}"a":1}}`,
  ],
  dictionary: ['1e999', '-0', '\\u2028', '"__proto__":', '[', '{"a":', '9007199254740993', '18446744073709551616'],
  run(input) {
    const read = unlessRefused(() => parseJSON(input.toString('utf8')), JSONSyntaxError)
    if (read === undefined) return
    must(
      stringify(parseJSON(stringify(read.value)).value) === stringify(read.value),
      'what was read is printed and read alike',
    )
    must(Object.getPrototypeOf({}) === Object.prototype && !('polluted' in {}), 'no prototype is changed')
  },
}

export const yamlBodies: FuzzTarget = {
  name: 'YAML bodies',
  corpus: [
    'a: &x [1, 2]\nb: *x\n<<: {c: 1}\n',
    'kind: ConfigMap\ndata:\n  a: |\n    text\n',
    '? [a]\n: !!binary aGk=\n',
    'a: .inf\nb: -.INF\nc: .nan\n',
    'replicas: 9007199254740993\nbig: 0x7fffffffffffffff\n',
    '&a [*a]\n',
    `a: ${'9'.repeat(200_000)}\n`,
    `- &a b\n${'- *a\n'.repeat(5_000)}`,
  ],
  dictionary: ['&a ', '*a', '<<: ', '? ', ': ', '- ', '!!int ', '!!float ', '.inf', '1e999', '\n  ', '{', '[', '~'],
  run(input) {
    const value = read(input.toString('utf8'))
    must(!('polluted' in {}), 'no prototype is changed')
    if (value === undefined) return
    must(isDeepStrictEqual(parseJSON(stringify(value)).value, plain(value)), 'what was read is what is stored')
  },
}

/** Undefined where it was refused: with a sentence, not by a stack that was full. */
function read(text: string): JSONValue | undefined {
  try {
    return readYAML(text).value
  } catch (error) {
    must(
      error instanceof Error && !(error instanceof RangeError || error instanceof TypeError),
      `refused: ${String(error)}`,
    )
    return undefined
  }
}

/** JSON has one zero. */
function plain(value: JSONValue): JSONValue {
  if (value === 0) return 0
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const copy = {}
  for (const [key, item] of Object.entries(value)) setOwn(copy, key, plain(item ?? null))
  return copy
}
