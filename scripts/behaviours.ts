// `npm run docs:behaviours`: the page of behaviours, from the names of the tests that show them. The page cannot promise
// what no test tries, and a test fails while the page is not what its names say.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const folder = new URL('../test/behaviours/', import.meta.url)
export const page = new URL('../docs/behaviours.md', import.meta.url)

/** Its tests are about the page, not on it. */
const own = 'page.test.ts'

/** In the order in which one meets them. */
const chapters: readonly (readonly [file: string, title: string])[] = [
  ['claims', 'Claims'],
  ['pools', 'Pools'],
  ['prefixes', 'Prefixes'],
  ['pool-status', 'What pools say'],
  ['paused', 'Pauses'],
  ['hands', 'What people do by hand'],
  ['takeover', 'What comes from elsewhere'],
  ['restarts', 'Crashes, restarts, late news'],
  ['versions', 'Older and later kinds'],
  ['reviews', 'Reviews'],
]

export interface Group {
  readonly subject: string
  readonly predicates: readonly string[]
}

/** What `describe` and `test` are called with, read from the text: nothing is run for a page. */
export function groupsIn(source: string): Group[] {
  const groups: { subject: string; predicates: string[] }[] = []
  for (const match of source.matchAll(/^ *(describe|test)(?=[.(])/gm)) {
    const sentence = sentenceAfter(source, match.index + match[0].length)
    if (sentence === undefined) throw new Error(`no sentence follows ${match[0].trim()} at ${match.index}`)
    if (match[1] === 'describe') groups.push({ subject: sentence, predicates: [] })
    else groups.at(-1)?.predicates.push(sentence)
  }
  return groups
}

/** The first text that a call begins with: `.each([...])` and `.skipIf(...)` come before it and begin with something else. */
function sentenceAfter(source: string, start: number): string | undefined {
  for (let at = start; at < source.length; at = endOfGroup(source, at)) {
    at = source.indexOf('(', at)
    if (at < 0) return undefined
    const text = /^\(\s*'((?:[^'\\]|\\.)*)'/.exec(source.slice(at, at + 400))?.[1]
    if (text !== undefined) return text.replaceAll("\\'", "'")
  }
  return undefined
}

/** Behind the bracket that closes the one at `start`; brackets in texts do not count. */
function endOfGroup(source: string, start: number): number {
  let depth = 0
  let quote = ''
  for (let at = start; at < source.length; at++) {
    const letter = source[at] ?? ''
    if (quote !== '') {
      if (letter === '\\') at++
      else if (letter === quote) quote = ''
    } else if ('\'"`'.includes(letter)) quote = letter
    else if ('([{'.includes(letter)) depth++
    else if (')]}'.includes(letter) && --depth === 0) return at + 1
  }
  return source.length
}

/** Tests that are made by a table say "%s"; a reader sees that there are several. */
const readable = (text: string): string => text.replaceAll(/%[si]/g, '…')

const groupsOf = (file: string): Group[] => groupsIn(readFileSync(new URL(`${file}.test.ts`, folder), 'utf8'))

/** Every behaviour as one sentence, as it stands on the page. */
export function behaviours(): Set<string> {
  const groups = chapters.flatMap(([file]) => groupsOf(file))
  return new Set(groups.flatMap(({ subject, predicates }) => predicates.map(one => readable(`${subject} ${one}`))))
}

export function render(): string {
  const files = readdirSync(folder).filter(file => file.endsWith('.test.ts'))
  const missing = files.filter(file => file !== own && !chapters.some(([name]) => file === `${name}.test.ts`))
  if (missing.length > 0) throw new Error(`these behaviours are in no chapter: ${missing.join(', ')}`)
  const parts = chapters.map(([file, title]) => {
    const sections = groupsOf(file).map(({ subject, predicates }) => {
      const lines = predicates.map(predicate => `- ${readable(predicate)}`)
      return `**${readable(subject)}**\n\n${lines.join('\n')}\n`
    })
    return `## ${title}\n\nShown by \`test/behaviours/${file}.test.ts\`.\n\n${sections.join('\n')}`
  })
  return `# Behaviours

What claims, addresses and pools do, each line a test that runs in one process (\`npm test\`), and, where it needs nothing that
only a test's own server can give, on a server (\`npm run test:behaviours -- --server=embedded\` or \`cluster\`). This page is made from the
names of those tests by \`npm run docs:behaviours\`. Where Mooring differs from the in-cluster provider on purpose:
[deviations](deviations.md).

${parts.join('\n')}`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) writeFileSync(page, render())
