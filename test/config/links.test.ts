// Links in documents lead somewhere.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readChart } from '../../scripts/release/chart.ts'

const documents = [
  ...readdirSync('.').filter(name => name.endsWith('.md')),
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => join('docs', name)),
]

/** `[text](target)`, outside of code; addresses of the web are left out. */
function linksIn(text: string): string[] {
  const prose = text.replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter(target => !/^\w+:/.test(target))
}

/** As those who render Markdown make them from headings. */
function anchorsIn(text: string): string[] {
  const headings = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading)
  return headings.map(heading =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replace(/ /g, '-'),
  )
}

function isBroken(document: string, target: string): boolean {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? resolve(document) : resolve(dirname(document), path)
  if (!existsSync(file)) return true
  return anchor !== undefined && file.endsWith('.md') && !anchorsIn(readFileSync(file, 'utf8')).includes(anchor)
}

describe('Links', () => {
  test.each(documents)('of %s lead to a file, and to a heading of it', document => {
    const broken = linksIn(readFileSync(document, 'utf8')).filter(target => isBroken(document, target))
    expect(broken).toEqual([])
  })

  test('of the released chart stay inside the chart', () => {
    const chart = readChart('v0.0.0', 'example.com/mooring:v0.0.0')
    const paths = new Set(chart.map(({ path }) => path))
    const broken = chart
      .filter(({ path }) => path.endsWith('.md'))
      .flatMap(({ path, text }) => linksIn(text).map(target => join(dirname(path), target)))
      .filter(target => !paths.has(target))
    expect(broken).toEqual([])
  })
})

describe('The samples', () => {
  test('are applied pools first, so that no claim begins its life with a warning', () => {
    const files = readdirSync('config/samples/capi').toSorted()
    const hasClaims = (file: string) =>
      readFileSync(join('config/samples/capi', file), 'utf8').includes('\nkind: IPAddressClaim\n')
    expect(files.findIndex(hasClaims)).toBe(files.length - 1)
  })
})

describe('The tour of the README', () => {
  test('writes keys only where git does not look', () => {
    const ignored = readFileSync('.gitignore', 'utf8').split('\n')
    const tour = readFileSync('README.md', 'utf8')
    const written = [...tour.matchAll(/main\.js backup (\w+)|--data (\w+)/g)].map(([, one, other]) => one ?? other)
    expect(new Set(written)).toEqual(new Set(['backup', 'restored']))
    for (const directory of ['backup', 'restored']) expect(ignored).toContain(`/${directory}/`)
    expect(tour).toContain('rm -r backup restored')
  })
})
