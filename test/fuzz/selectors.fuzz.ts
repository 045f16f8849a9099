import { isDeepStrictEqual } from 'node:util'
import { builtinKinds } from '../../src/apiserver/builtin/kinds.ts'
import { parseRevision } from '../../src/apiserver/revisions.ts'
import { type FieldSelector, parseFieldSelector } from '../../src/apiserver/selectors/fields.ts'
import { formatLabelSelector, parseRequirements, SelectorError } from '../../src/apiserver/selectors/labels.ts'
import { StatusError } from '../../src/apiserver/status.ts'
import { type FuzzTarget, must, mustBeReadable, unlessRefused } from './target.ts'

export const labelSelectors: FuzzTarget = {
  name: 'label selectors',
  corpus: ['a=b,c!=d,e in (f,g),h notin (),!i,j,k>1,l<2', 'example.com/a==b', ' a in ( b , ) ', 'in in (in)', 'notin'],
  run(input) {
    const read = unlessRefused(() => parseRequirements(input.toString('utf8')), SelectorError)
    if (read === undefined) return
    const text = formatLabelSelector(read)
    must(
      isDeepStrictEqual(formatLabelSelector(parseRequirements(text)), text),
      'what was read is printed and read alike',
    )
  },
}

const pods = builtinKinds.find(({ kind }) => kind === 'Pod')
const objects = ['a', 'b', 'a,b', 'a=b', '\\'].flatMap(name =>
  ['x', 'y'].map(namespace => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace } })),
)

export const fieldSelectors: FuzzTarget = {
  name: 'field selectors',
  corpus: [
    'metadata.name=a,metadata.namespace!=x',
    'metadata.name==a\\,b',
    'metadata.name=a\\=b,status.phase=',
    'spec.nodeName!=n1,,',
    'metadata.name=\\\\',
    'metadata.name=a,metadata.name=b',
  ],
  dictionary: ['metadata.name', 'metadata.namespace', '=', '!=', '==', ',', '\\', '__proto__', 'constructor='],
  run(input) {
    if (pods === undefined) throw new Error('pods are a kind')
    const text = input.toString('utf8')
    let selector: FieldSelector
    try {
      selector = parseFieldSelector(text, pods)
    } catch (error) {
      must(error instanceof StatusError && error.status.code === 400, `refused with 400: ${String(error)}`)
      return mustBeReadable(String(error))
    }
    for (const object of objects) {
      const { name, namespace } = object.metadata
      const isMet = selector.requirements.every(({ field, operator, value }) => {
        const found = field === 'metadata.name' ? name : field === 'metadata.namespace' ? namespace : ''
        return (found === value) === (operator === '=')
      })
      must(selector.matches(object) === isMet, 'every requirement is met, or the object is not selected')
      if (!isMet) continue
      must((selector.exactName ?? name) === name, 'a selector that pins the name selects no other')
      must((selector.exactNamespace ?? namespace) === namespace, 'nor of another namespace')
    }
    const escaped = (value: string) => value.replace(/[\\,=]/g, '\\$&')
    const printed = selector.requirements.map(({ field, operator, value }) => `${field}${operator}${escaped(value)}`)
    must(
      isDeepStrictEqual(parseFieldSelector(printed.join(','), pods).requirements.length, selector.requirements.length),
      'what was read is printed and read alike',
    )
  },
}

export const revisions: FuzzTarget = {
  name: 'resource versions',
  corpus: ['0', '1', '999999999999999', '9007199254740993', '-1', '1e3', ' 1', '00000000000000012', '\u0661'],
  run(input) {
    const text = input.toString('utf8')
    const revision = unlessRefused(() => parseRevision(text), StatusError)
    if (revision === undefined) return
    must(/^[0-9]+$/.test(text) && BigInt(text) === BigInt(revision), 'it is the number that was written')
  },
}
