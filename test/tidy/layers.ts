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
  controllers: ['ip', 'api', 'ipam', 'telemetry', 'runtime', 'kube'],
  admission: ['ip', 'api', 'ipam', 'telemetry', 'runtime', 'kube'],
  adopt: ['ip', 'api', 'ipam', 'telemetry', 'runtime', 'kube', 'controllers'],
  store: [],
  apiserver: ['ip', 'telemetry', 'store'],
  web: belowWeb,
  cli: [...belowWeb, 'adopt', 'web'],
  main: [...belowWeb, 'web', 'cli'],
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
    if (above === below || below === 'limits' || below === 'json' || allowed.includes(below)) return []
    return [`${from} imports ${to}: ${above} may not know ${below}`]
  })
}
