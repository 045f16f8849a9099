import { expect, test } from 'vitest'
import { findingIds } from '../../src/machines/audit.ts'
import { rowsBelow } from './security.ts'
import { read } from './sources.ts'

test('the page of the command line has every finding of an audit, once', () => {
  const ids = rowsBelow(read('docs/reference/command-line.md'), '### Findings').map(([id = '']) =>
    id.replaceAll('`', ''),
  )
  expect(ids.toSorted()).toEqual([...findingIds])
})
