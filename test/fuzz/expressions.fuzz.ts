// CEL within its budget: an expression of the grammar that the bytes spell ends, in time, with a value or a sentence.

import { compileExpression, ExpressionError } from '../../src/apiserver/cel/expression.ts'
import { type FuzzTarget, must, unlessRefused } from './target.ts'

const items = Array.from({ length: 300 }, (_, i) => i)
const text = 'ab'.repeat(2_000)
const object = { items, text, texts: items.map(String), map: { a: 1, b: [text] }, nothing: null, number: 7 }

/** What an expression is made of; `_` is another. */
const forms = [
  'object.items',
  'object.texts',
  'object.text',
  'object.map',
  'object.number',
  '"a+"',
  '1',
  'x',
  '[_, _]',
  '{"k": _}',
  '(_ + _)',
  '(_ == _)',
  '(_ && _)',
  '(_ || _)',
  '(_ ? _ : _)',
  '(_ in _)',
  '_.map(x, _)',
  '_.all(x, _)',
  '_.exists(x, _)',
  '_.filter(x, _)',
  '_.exists_one(x, _)',
  '_.size()',
  '_.matches(_)',
  '_.replace(_, _)',
  '_.split(_)',
  '_.join(_)',
  '_.contains(_)',
  'string(_)',
  '_.findAll(_)',
  '_.sort()',
  '_.sum()',
  '_[_]',
  'has(object.map)',
  '_.lowerAscii()',
  '_.format([_, _])',
  'object.?map.?b.orValue(_)',
]

/** One byte for each form; where they run out, a leaf. */
function spell(bytes: Buffer): string {
  let at = 0
  const next = (depth: number): string => {
    const byte = at < bytes.length && depth < 12 ? (bytes[at++] ?? 0) : 6
    const form = forms[byte % forms.length] ?? '1'
    return form.replace(/_(?![a-z])/g, () => next(depth + 1))
  }
  return next(0)
}

const byteOf = (form: string): number => Math.max(0, forms.indexOf(form))

export const expressions: FuzzTarget = {
  name: 'CEL expressions',
  corpus: [
    ['_.all(x, _)', 'object.items', '_.all(x, _)', 'object.items', '_.all(x, _)', 'object.items', '(_ == _)', 'x'],
    ['_.map(x, _)', 'object.texts', '_.map(x, _)', 'object.texts', '(_ + _)', 'object.text', 'object.text'],
    ['_.matches(_)', 'object.text', '"a+"'],
    ['_.replace(_, _)', 'object.text', '"a+"', '_.replace(_, _)', 'object.text', '"a+"', 'object.text'],
    ['_.join(_)', '_.map(x, _)', 'object.items', 'object.text', 'object.text'],
    ['_.sort()', '_.map(x, _)', 'object.texts', '(_ + _)', 'object.text', 'x'],
    ['_.exists(x, _)', 'object.items', '(_ || _)', '_.exists(x, _)', 'object.items', '(_ in _)', '1', 'object.items'],
  ].map(list => Buffer.from(list.map(byteOf))),
  run(input) {
    const source = spell(input)
    const compiled = unlessRefused(() => compileExpression(source, ['object', 'x']), ExpressionError)
    if (compiled === undefined) return
    try {
      compiled.evaluate({ object, x: 1 })
    } catch (error) {
      must(error instanceof Error, `${source} failed with a sentence`)
      const { name, message } = error as Error
      must(!['TypeError', 'RangeError', 'ReferenceError'].includes(name), `${source}: ${name}: ${message}`)
      must(message.length < 2_000, `${source}: a sentence of ${message.length} characters`)
    }
  },
}
