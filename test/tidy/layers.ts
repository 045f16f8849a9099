// The layers of `src`, and which of them each may lean on. Arrows point down only: whoever reads a file never has to know
// what stands above it.

import type { Import } from './sources.ts'

const belowWeb = ['ip', 'api', 'ipam', 'telemetry', 'runtime', 'kube', 'controllers', 'admission', 'store', 'apiserver']

/** For each folder of `src` (or file directly in it): what it may import besides itself, `limits.ts` and `json.ts`. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  limits: [],
  json: [],
  ip: [],
  api: ['ip'],
  ipam: ['ip', 'api'],
  telemetry: [],
  runtime: ['telemetry'],
  kube: ['ip', 'api', 'ipam', 'telemetry', 'runtime'],
  admission: ['ip', 'api', 'telemetry', 'runtime', 'kube'],
  controllers: ['ip', 'api', 'ipam', 'telemetry', 'runtime', 'kube', 'admission'],
  adopt: ['ip', 'api', 'ipam', 'telemetry', 'runtime', 'kube', 'controllers'],
  store: [],
  apiserver: ['ip', 'telemetry', 'store'],
  web: belowWeb,
  cli: [...belowWeb, 'adopt', 'web'],
  main: [...belowWeb, 'web', 'cli'],
}

/**
 * For each folder of `src/controllers`: which of the others it may know, besides what lies directly in there. A desk knows what
 * all desks share, and no other desk; what they share knows none.
 */
const desks: Readonly<Record<string, readonly string[]>> = {
  '': [],
  hold: [],
  pool: [],
  office: ['hold', 'pool'],
  capi: ['hold', 'pool', 'office'],
}

/** Of `src/controllers/hold/steps.ts` it is `hold`, of `src/controllers/office.ts` `office`, of any other file there none. */
function deskOf(path: string): string {
  const [, , folder = '', file] = path.split('/')
  if (file !== undefined) return folder
  return folder === 'office.ts' ? 'office' : ''
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
    if (above === below || below === 'limits' || below === 'json' || allowed.includes(below)) return []
    return [`${from} imports ${to}: ${above} may not know ${below}`]
  })
}

function sidewaysArrows(from: string, to: string): string[] {
  const [one, other] = [deskOf(from), deskOf(to)]
  const allowed = desks[one]
  if (allowed === undefined) return [`${from} lies in src/controllers/${one}, which is no known desk`]
  if (one === other || other === '' || allowed.includes(other)) return []
  return [`${from} imports ${to}: ${one === '' ? 'what all desks share' : one} may not know ${other}`]
}
