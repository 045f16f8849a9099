// The page about the controller names everything that can be given to it and everything it may do.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withMadeTables } from '../../scripts/config/controller-page.ts'
import { flags, foreignFlags } from '../../src/cli/controller-flags.ts'
import { desks } from '../../src/controllers/desks.ts'

const page = readFileSync('docs/reference/controller.md', 'utf8')

test.each(flags.map(flag => [flag.flag.split(' ')[0] ?? '', flag.shown ?? flag.default]))(
  'the page explains %s, and its default is %s',
  (name, value) => {
    const row = page.split('\n').find(line => new RegExp(`^\\| \`${name}[ [\`]`).test(line)) ?? ''
    expect(row).not.toBe('')
    if (value !== '' && value !== undefined && name !== '--webhook-cert-dir')
      expect(row).toContain(` ${quoted(value)} `)
  },
)

/** Defaults that are no value stand as they are. */
const quoted = (value: unknown) => (/^[\w:.-]+$/.test(String(value)) ? `\`${String(value)}\`` : String(value))

test.each(foreignFlags.map(({ flag }) => [flag.split(' ')[0] ?? '']))(
  'the page names %s, which changes nothing',
  name => {
    expect(page).toContain(`\`${name}\``)
  },
)

test('the page has every desk and every permission, as `npm run config` writes them', () => {
  expect(page).toBe(withMadeTables(page, desks))
})
