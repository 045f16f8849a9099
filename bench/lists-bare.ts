// What it takes to read and parse the lists of every kind that the office and the desks watch, and nothing else: the same pages over
// the same wire, as they come if nothing is asked for, each thrown away when it is parsed. A program of its own, built as the product
// is, so that its start counts as the controller's does. Prints the milliseconds of processor time of its whole life.

import { connect } from '../src/cli/connect.ts'
import { type Kind, nameOfKind } from '../src/kube/object.ts'

const [kubeconfig = '', kinds = '[]'] = process.argv.slice(2)
interface List {
  readonly metadata: { readonly continue?: string }
}

const pageSize = 500
const { wire, discovery, close } = connect({ kubeconfig }, 'bench')

async function readAll(kind: Kind): Promise<void> {
  const { signal } = new AbortController()
  const version = await discovery.versionOf(kind, signal).catch(() => undefined)
  // What is not installed cannot be read.
  if (version === undefined) return
  const base = kind.group === '' ? `/api/${version}` : `/apis/${kind.group}/${version}`
  for (let next: string | undefined = ''; next !== undefined; ) {
    const path = `${base}/${kind.plural}?limit=${pageSize}${next && `&continue=${encodeURIComponent(next)}`}`
    const { status, body } = await wire({ method: 'GET', path, headers: { accept: 'application/json' }, signal })
    if (status !== 200 || typeof body !== 'string')
      throw new Error(`${nameOfKind(kind)}: the API server answered ${status}`)
    next = (JSON.parse(body) as List).metadata.continue || undefined
  }
}

await Promise.all((JSON.parse(kinds) as Kind[]).map(readAll))
await close()
const { user, system } = process.cpuUsage()
console.log(Math.round((user + system) / 1000))
