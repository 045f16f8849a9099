// What it takes to read and parse the lists of every kind that a desk watches, and nothing else: the same pages over the same wire,
// each thrown away when it is parsed. A program of its own, as built, so that its start counts as the controller's does. Prints the
// milliseconds of processor time of its whole life.

import { connect } from '../dist/cli/connect.js'
import { claims, clusters, reports } from '../dist/controllers/capi/kinds.js'
import { holds, macHolds, namespaces, pools } from '../dist/controllers/office/kinds.js'
import { nameOfKind } from '../dist/kube/object.js'

const [kubeconfig] = process.argv.slice(2)
const pageSize = 500
const { wire, discovery, close } = connect({ kubeconfig }, 'bench')

async function readAll(kind) {
  const { signal } = new AbortController()
  const version = await discovery.versionOf(kind, signal).catch(() => undefined)
  // Nobody reads what is not installed.
  if (version === undefined) return
  const base = kind.group === '' ? `/api/${version}` : `/apis/${kind.group}/${version}`
  for (let next = ''; next !== undefined; ) {
    const path = `${base}/${kind.plural}?limit=${pageSize}${next && `&continue=${encodeURIComponent(next)}`}`
    const { status, body } = await wire({ method: 'GET', path, headers: { accept: 'application/json' }, signal })
    if (status !== 200) throw new Error(`${nameOfKind(kind)}: the API server answered ${status}`)
    next = JSON.parse(body).metadata.continue || undefined
  }
}

await Promise.all([holds, macHolds, claims, reports, clusters, namespaces, ...pools].map(readAll))
await close()
const { user, system } = process.cpuUsage()
console.log(Math.round((user + system) / 1000))
