// Writes docs/reference/conformance.md: every behaviour the suite checks, what is skipped and why, and how the embedded
// server does in Kubernetes' own specs. Run: npm run docs:conformance

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { skips } from '../../test/conformance/skips.ts'

const repository = join(import.meta.dirname, '..', '..')
const folder = join(repository, 'test', 'conformance')

interface Topic {
  readonly title: string
  readonly behaviours: string[]
}

function topicsOf(source: string): Topic[] {
  const topics: Topic[] = []
  for (const match of source.matchAll(/^\s*(describe(?:\.\w+)?|conforms)\(\s*(['`"])((?:\\.|(?!\2).)*)\2/gm)) {
    const [, word = '', , text = ''] = match
    // A name made in a loop shows where it varies.
    const title = text.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll("\\'", "'")
    if (word.startsWith('describe')) topics.push({ title, behaviours: [] })
    else topics.at(-1)?.behaviours.push(title)
  }
  return topics
}

const expected = JSON.parse(readFileSync(join(repository, 'test', 'upstream', 'expected.json'), 'utf8')) as {
  passing: string[]
  notEmbedded: Record<string, string>
}

const files = readdirSync(folder).filter(file => file.endsWith('.conformance.ts'))
const topics = files.flatMap(file => topicsOf(readFileSync(join(folder, file), 'utf8')))
const excused = Object.entries(expected.notEmbedded)

const page = [
  '# Conformance',
  '',
  'One suite of API behaviours runs against the embedded server and against a real kube-apiserver 1.35 with etcd and',
  'kube-controller-manager: `npm run test:conformance`, and `npm run test:conformance -- --server=cluster`. A sentence below',
  'is a test that passes on both, with the same status codes, reasons and words where clients can see them.',
  '',
  '## Where they differ',
  '',
  ...(skips.length === 0
    ? ['Nothing is skipped on either server.']
    : [
        '| behaviour | not on | because |',
        '|---|---|---|',
        ...skips.map(skip => `| ${skip.name} | ${skip.server} | ${skip.because} |`),
      ]),
  '',
  "## Kubernetes' own specs",
  '',
  `\`npm run test:upstream\` runs the specs of Kubernetes' API machinery. Without nodes a real server passes ${expected.passing.length} of them;`,
  `the embedded server passes ${expected.passing.length - excused.length}.`,
  '',
  ...(excused.length === 0
    ? []
    : ['| spec | why not |', '|---|---|', ...excused.map(([name, why]) => `| ${name} | ${why} |`), '']),
  '## Behaviours',
  '',
  ...topics.flatMap(topic => [`### ${sentence(topic.title)}`, '', ...topic.behaviours.map(text => `- ${text}`), '']),
]
writeFileSync(join(repository, 'docs', 'reference', 'conformance.md'), `${page.join('\n').trimEnd()}\n`)

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
