// One agent runs on every node of a cluster: what it loads, it loads thousands of times. It is the part of the product that nodes need,
// and two packages.

import { expect, test } from 'vitest'
import { importsOf, read } from './sources.ts'

/** Types are gone when it runs. */
const withoutTypes = (text: string): string => text.replaceAll(/^import type\b[^'"]*?from '[^']+'$/gm, '')

function loadedFrom(entry: string): { readonly files: readonly string[]; readonly packages: readonly string[] } {
  const files = new Set([entry])
  const packages = new Set<string>()
  for (const path of files) {
    for (const { to, specifier } of importsOf(path, withoutTypes(read(path)))) {
      if (to?.endsWith('.ts')) files.add(to)
      else if (to === undefined && !specifier.startsWith('node:')) packages.add(specifier)
    }
  }
  return { files: [...files], packages: [...packages].sort() }
}

const { files, packages } = loadedFrom('src/cli/node-command.ts')

test('the agent of a node was looked at', () => {
  expect(files).toContain('src/node/answer.ts')
  expect(loadedFrom('src/cli/program.ts').files).toContain('src/controllers/desks.ts')
})

test('the agent of a node loads no desk, no store, and nothing of other platforms', () => {
  const others =
    /^src\/(adopt|imports|install|kargs|machines|migration|playground|sources|store|vsphere)\/|\/desks?\.ts$/
  expect(files.filter(path => others.test(path))).toEqual([])
})

test('of the API server it loads what makes a certificate, and its version', () => {
  const known = /^src\/apiserver\/(certificates\/|version\.ts$)/
  expect(files.filter(path => path.startsWith('src/apiserver/') && !known.test(path))).toEqual([])
})

test('it loads the reader of the command line and an HTTP client, and of that no more than it uses', () => {
  expect(packages).toEqual([
    'commander',
    'undici/lib/api/api-request.js',
    'undici/lib/core/errors.js',
    'undici/lib/dispatcher/agent.js',
  ])
})
