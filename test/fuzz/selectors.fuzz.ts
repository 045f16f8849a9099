import { isDeepStrictEqual } from 'node:util'
import { formatLabelSelector, parseRequirements, SelectorError } from '../../src/apiserver/selectors/labels.ts'
import { type FuzzTarget, must, unlessRefused } from './target.ts'

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
