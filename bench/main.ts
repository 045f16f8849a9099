// `npm run bench [-- --only=ip,store,apiserver] [--objects=N] [--write]`: all benchmarks, each beside what it is to be
// compared with. `--write` puts the figures into docs/benchmarks.md.

import { parseArgs } from 'node:util'
import { skippedExitCode, Unavailable } from '../scripts/real/binaries.ts'
import { benchAPIServer, type Comparison, toLine, toMarkdown } from './apiserver.ts'
import { benchIP, toTable } from './ip.ts'
import { machine, writeSections } from './page.ts'
import { benchStore } from './store.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'ip,store,apiserver' },
    objects: { type: 'string', default: '100000' },
    write: { type: 'boolean', default: false },
  },
})
const wanted = new Set(values.only.split(','))
const sections: string[] = []

if (wanted.has('ip')) {
  const table = toTable(await benchIP())
  console.log(`${table}\n`)
  sections.push(
    '## Addresses',
    '',
    'In one process, taking turns with two libraries that also validate what they read.',
    '',
    '```',
    table,
    '```',
    '',
  )
}

if (wanted.has('store')) {
  const rows: string[] = []
  await benchStore(({ name, value, unit }) => {
    console.log(`${name.padEnd(44)} ${value.toFixed(0).padStart(12)} ${unit}`)
    rows.push(`| ${name} | ${Math.round(value).toLocaleString('en')} | ${unit} |`)
  })
  console.log('')
  sections.push(
    '## The store',
    '',
    'Values of 1 KiB; every write is on disk before it is answered.',
    '',
    '| what | figure | unit |',
    '|---|---|---|',
    ...rows,
    '',
  )
}

if (wanted.has('apiserver')) {
  try {
    const rows: Comparison[] = []
    await benchAPIServer({
      objects: Number(values.objects),
      report: row => {
        rows.push(row)
        console.log(toLine(row))
      },
      say: line => console.error(line),
    })
    sections.push(
      '## The API server',
      '',
      'The same client, the same work, both servers on the same machine, task by task in turn; durable writes on both sides,',
      'the real server without request limits and without controllers. A custom resource with three fields, HTTP/1.1, TLS.',
      '',
      toMarkdown(rows),
      '',
    )
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    console.log(`skipped, because ${error.message}`)
    process.exitCode = skippedExitCode
  }
}

if (values.write) {
  const introduction = [
    '# Benchmarks',
    '',
    `Measured by \`npm run bench -- --write\` on ${machine()}.`,
    'Plan with the ratios, not with the figures: another machine has other figures.',
  ]
  writeSections(sections.join('\n'), introduction.join('\n'))
}
