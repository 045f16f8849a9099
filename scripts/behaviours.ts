// `npm run docs:behaviours`: the page of behaviours, from the names of the tests that show them. The page cannot promise
// what no test tries. A test that is made by a table stands on the page once, followed by what the table says. With
// `--check` nothing is written, and the exit code says whether the page is what the tests are called.

import { execFileSync } from 'node:child_process'
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
  ['rests', 'Released addresses'],
  ['spaces', 'Spaces'],
  ['networks', 'Networks'],
  ['user-defined-networks', 'Networks that users define'],
  ['udn-tenants', 'What tenants can do about networks that users define'],
  ['ip-pools', 'IPPools'],
  ['prefixes', 'Prefixes'],
  ['pool-status', 'What pools say'],
  ['paused', 'Pauses'],
  ['hands', 'What people do by hand'],
  ['choices', 'What claims say to have'],
  ['tenants', 'What tenants can write'],
  ['takeover', 'What comes from elsewhere'],
  ['moved', 'What goes elsewhere'],
  ['restarts', 'Crashes, restarts, late events'],
  ['floods', 'Floods'],
  ['unread-kinds', 'Kinds that cannot be read'],
  ['vms', 'Virtual machines'],
  ['vm-pods', 'Pods of virtual machines'],
  ['node', 'Pods and machines on networks of every CNI'],
  ['vm-addresses', 'Addresses of virtual machines'],
  ['vm-requests', 'Virtual machines that ask for their MAC and addresses'],
  ['vm-reasons', 'Why virtual machines wait for their addresses'],
  ['vm-networks', 'Networks of virtual machines'],
  ['vm-restarts', 'Virtual machines across crashes and restarts'],
  ['vm-tenants', 'What tenants can do about virtual machines'],
  ['vm-cases', 'Further cases of persistent addresses'],
  ['machines-claims', 'Machines of OpenShift and their claims'],
  ['machine-vms', 'Machines whose virtual machines Mooring makes'],
  ['machine-vm-faults', 'Virtual machines of Machines under lost answers and crashes'],
  ['machine-drain', 'Nodes of Machines that go'],
  ['machine-sets', 'Sets of Machines'],
  ['machines-pools', 'IPPools of Machines'],
  ['machines-tenants', 'What tenants can do about Machines'],
  ['machines-webhooks', 'What the author of a Machine is told'],
  ['migration-network', 'The network of live migrations'],
  ['migration-addresses', 'Addresses of nodes for live migrations'],
  ['migration-gate', 'When live migrations may begin'],
  ['migration-webhooks', 'What the author of a migration network is told'],
  ['migration-network-command', 'The command line of the migration network'],
  ['versions', 'Older and later kinds'],
  ['webhooks', 'Webhooks'],
  ['watched', 'Being watched'],
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

/** Tests that are made by a table say "%s", or "$name"; a reader sees that there are several. */
const blank = /%[si]|\$\w+/g
const readable = (text: string): string => text.replaceAll(blank, '…')

/** What stands in the blanks of a sentence, in each of the names that fit it. */
export function fillings(sentence: string, names: readonly string[]): string[] {
  if (readable(sentence) === sentence) return []
  const parts = sentence.split(blank).map(part => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const pattern = new RegExp(`^${parts.join('(.*)')}$`, 's')
  const found = names.flatMap(name => {
    const match = pattern.exec(name)
    return match === null ? [] : [match.slice(1).join(' … ')]
  })
  return [...new Set(found)]
}

/** Every test of a file by its full name, tables written out, as `describe > test`. */
function namesIn(file: string, all: readonly Listed[]): string[][] {
  return all.filter(listed => listed.file.endsWith(`/${file}.test.ts`)).map(({ name }) => name.split(' > '))
}

interface Listed {
  readonly name: string
  readonly file: string
}

function listTests(): Listed[] {
  const vitest = new URL('../node_modules/vitest/vitest.mjs', import.meta.url).pathname
  const args = [vitest, 'list', 'test/behaviours', '--json']
  const options = { cwd: new URL('..', import.meta.url), encoding: 'utf8', maxBuffer: 1 << 26 } as const
  return JSON.parse(execFileSync(process.execPath, args, options)) as Listed[]
}

const groupsOf = (file: string): Group[] => groupsIn(readFileSync(new URL(`${file}.test.ts`, folder), 'utf8'))

/** Every behaviour as one sentence, as it stands on the page. */
export function behaviours(): Set<string> {
  const groups = chapters.flatMap(([file]) => groupsOf(file))
  return new Set(groups.flatMap(({ subject, predicates }) => predicates.map(one => readable(`${subject} ${one}`))))
}

/** The page, without what tables say. */
export function skeleton(): string {
  return render([])
}

/** What tables say stands indented below its sentence. */
export function skeletonOf(text: string): string {
  return text.replaceAll(/^ {2}- .*\n/gm, '').replaceAll(/^(\*\*.*\*\*): .*$/gm, '$1')
}

export function render(tests: readonly Listed[]): string {
  const files = readdirSync(folder).filter(file => file.endsWith('.test.ts'))
  const missing = files.filter(file => file !== own && !chapters.some(([name]) => file === `${name}.test.ts`))
  if (missing.length > 0) throw new Error(`these behaviours are in no chapter: ${missing.join(', ')}`)
  const parts = chapters.map(([file, title]) => {
    const names = namesIn(file, tests)
    const groups = groupsOf(file)
    const sections = groups.map(group => renderGroup(group, names, groups))
    return `## ${title}\n\nShown by \`test/behaviours/${file}.test.ts\`.\n\n${sections.join('\n')}`
  })
  return `# Behaviours

What claims, addresses and pools do, each line a test that runs in one process (\`npm test\`), and on a real kube-apiserver
(\`npm run test:cluster -- capi\`, and with \`--crds=v1beta1\` beside an older Cluster API). This page is made from the
names of those tests by \`npm run docs:behaviours\`. Where Mooring differs from the in-cluster provider on purpose:
[deviations](deviations.md).

${parts.join('\n')}`
}

function renderGroup({ subject, predicates }: Group, names: readonly string[][], others: readonly Group[]): string {
  const mine = names.filter(([first = '']) => bestFit(first, others) === subject)
  const subjects = fillings(
    subject,
    mine.map(([first = '']) => first),
  )
  // A sentence that stands for itself is no filling of a more general one.
  const rest = mine.map(([, ...words]) => words.join(' > ')).filter(name => !predicates.includes(name))
  const lines = predicates.flatMap(predicate => {
    const rows = fillings(predicate, rest).map(filling => `  - ${escapeMarkdown(filling)}`)
    return [`- ${readable(predicate)}`, ...rows]
  })
  const all = subjects.length === 0 ? '' : `: ${subjects.map(escapeMarkdown).join('; ')}`
  return `**${readable(subject)}**${all}\n\n${lines.join('\n')}\n`
}

/** Of the sentences that a name may be made from, the one that says the most itself. */
function bestFit(name: string, groups: readonly Group[]): string | undefined {
  const literal = (sentence: string) => sentence.replaceAll(blank, '').length
  const fitting = groups.map(({ subject }) => subject).filter(one => one === name || fillings(one, [name]).length > 0)
  return fitting.sort((one, other) => literal(other) - literal(one))[0]
}

const escapeMarkdown = (text: string): string => text.replaceAll(/[*_<>[\]\\`]/g, '\\$&').replaceAll('\n', ' ')

function main(): void {
  const text = render(listTests())
  if (!process.argv.includes('--check')) return writeFileSync(page, text)
  if (readFileSync(page, 'utf8') === text) return console.log('docs/behaviours.md is what the tests are called')
  console.error('docs/behaviours.md is not what the tests are called; run `npm run docs:behaviours`')
  process.exitCode = 1
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
