// The kinds that behaviours speak of, by the name that an object says of itself.

import { definitionKind } from '../../scripts/real/kinds.ts'
import { claims, clusters, holds, namespaces, pools, reports } from '../../src/controllers/office/kinds.ts'
import { events } from '../../src/kube/events.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'

export { claims, clusters, events, holds, pools, reports }

const known: readonly Kind[] = [claims, reports, holds, clusters, namespaces, events, definitionKind, ...pools]

export function kindOf({ kind }: KubeObject): Kind {
  const found = known.find(one => one.kind === kind)
  if (found === undefined) throw new Error(`no behaviour speaks of ${kind}`)
  return found
}
