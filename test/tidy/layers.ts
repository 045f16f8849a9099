// The layers of `src`, and which of them each may lean on. Arrows point down only: a reader of a file never has to know what
// stands above it.

import type { Import } from './sources.ts'

const secondFloor = ['ip', 'api', 'ipam', 'telemetry', 'runtime', 'kube', 'admission', 'networks', 'controllers']

/** For each folder of `src` (or file directly in it): what it may import besides itself, `limits.ts` and `json.ts`. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  limits: [],
  json: [],
  xml: [],
  yaml: [],
  ip: [],
  // Kernel arguments of machines: printed, and read as a guest reads them.
  kargs: ['ip'],
  api: ['ip'],
  ipam: ['ip', 'api'],
  telemetry: [],
  runtime: ['telemetry'],
  kube: ['ip', 'api', 'ipam', 'telemetry', 'runtime'],
  admission: ['ip', 'api', 'telemetry', 'runtime', 'kube'],
  // What reads networks, and clients of other systems: they know no controller.
  networks: ['ip', 'api', 'ipam', 'telemetry', 'runtime', 'kube'],
  // The network of live migrations: its value, its addresses, what is made of it.
  migration: ['ip', 'api', 'ipam', 'networks'],
  vsphere: ['xml', 'ip', 'api', 'telemetry', 'runtime'],
  // Machines of other platforms, read from there or from files.
  sources: ['xml', 'ip', 'vsphere'],
  ovn: ['ip', 'api', 'telemetry', 'runtime'],
  controllers: [
    'ip',
    'api',
    'ipam',
    'telemetry',
    'runtime',
    'kube',
    'admission',
    'networks',
    'migration',
    'vsphere',
    'ovn',
    'yaml',
    'kargs',
  ],
  // What runs on a node, and what forwards to it.
  node: secondFloor,
  // Claims of pods are made as a node makes them.
  adopt: [...secondFloor, 'node'],
  // The plan that takes in machines of other platforms.
  imports: [...secondFloor, 'sources'],
  // Whether addresses are enough for Machines, and what of them does not fit together.
  machines: secondFloor,
  // The hosts of an install-config, judged and rendered as manifests.
  install: ['yaml', 'ip', 'api', 'ipam', 'kargs'],
  cni: ['ip'],
  // Files that no other user may read: keys and data.
  files: [],
  store: ['files'],
  apiserver: ['yaml', 'ip', 'telemetry', 'files', 'store'],
  // None of these reaches the store or the API server but through the API.
  playground: [...secondFloor, 'migration'],
  web: secondFloor,
  cli: [
    ...secondFloor,
    'migration',
    'vsphere',
    'sources',
    'imports',
    'machines',
    'yaml',
    'kargs',
    'install',
    'ovn',
    'adopt',
    'node',
    'files',
    'store',
    'apiserver',
    'playground',
    'web',
  ],
  main: [...secondFloor, 'store', 'apiserver', 'web', 'cli'],
}

/** Folders of stand-ins and servers that one file alone may start. */
const startedOnlyBy: Readonly<Record<string, readonly string[]>> = { playground: ['src/cli/up.ts'] }

/**
 * What lies in `src/controllers`, from below: what a component is; the office, which all desks share; the desks, of which none
 * knows another; their table; what assembles them.
 */
const shared = ['component']
const above = ['desks', 'assemble']

/** Of `src/controllers/office/ledger.ts` it is `office`, of `src/controllers/desks.ts` `desks`. */
function roomOf(path: string): string {
  return (path.split('/')[2] ?? '').replace(/\.ts$/, '')
}

function mayKnow(from: string, to: string): boolean {
  if (from === to || shared.includes(to)) return true
  if (above.includes(from)) return true
  if (shared.includes(from) || above.includes(to)) return false
  // The contract of a desk names the office; the office knows no desk.
  if (from === 'desk') return to === 'office'
  if (from === 'office') return false
  return to === 'office' || to === 'desk'
}

/** `src/apiserver/edge/handler.ts` lies in `apiserver`, `src/limits.ts` in `limits`. */
export function layerOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '')
}

export function upwardArrows(imports: readonly Import[]): string[] {
  return imports.flatMap(({ from, to }) => {
    if (to === undefined) return []
    // The program knows its own version from where npm reads it.
    if (to === 'package.json') return []
    if (!to.startsWith('src/')) return [`${from} leaves src: it imports ${to}`]
    const [above, below] = [layerOf(from), layerOf(to)]
    const allowed = layers[above]
    if (allowed === undefined) return [`${from} lies in src/${above}, which is no known layer`]
    if (above === 'controllers' && below === above) return sidewaysArrows(from, to)
    const starters = startedOnlyBy[below]
    if (above !== below && starters !== undefined && !starters.includes(from)) {
      return [`${from} imports ${to}: only ${starters.join(', ')} may start the ${below}`]
    }
    if (above === below || below === 'limits' || below === 'json' || allowed.includes(below)) return []
    return [`${from} imports ${to}: ${above} may not know ${below}`]
  })
}

function sidewaysArrows(from: string, to: string): string[] {
  const [one, other] = [roomOf(from), roomOf(to)]
  return mayKnow(one, other) ? [] : [`${from} imports ${to}: ${one} may not know ${other}`]
}
