// The kinds of the behaviours, by the kind that an object names.

import { definitionKind } from '../../scripts/real/kinds.ts'
import { claims, clusters, reports } from '../../src/controllers/capi/kinds.ts'
import { holds, macHolds, namespaces, pools } from '../../src/controllers/office/kinds.ts'
import { events } from '../../src/kube/events.ts'
import { defineKind, type Kind, type KubeObject } from '../../src/kube/object.ts'
import { berths, networks } from '../toy-desk/kinds.ts'

export { claims, clusters, events, holds, macHolds, pools, reports }

const rbac = (kind: string) =>
  defineKind<KubeObject>({
    group: 'rbac.authorization.k8s.io',
    versions: ['v1'],
    plural: `${kind.toLowerCase()}s`,
    kind,
    namespaced: true,
  })

const ofOffice = [holds, macHolds, namespaces, events, definitionKind, ...pools]
const known: readonly Kind[] = [
  claims,
  reports,
  clusters,
  berths,
  networks,
  rbac('Role'),
  rbac('RoleBinding'),
  ...ofOffice,
]

export function kindOf({ kind }: KubeObject): Kind {
  const found = known.find(one => one.kind === kind)
  if (found === undefined) throw new Error(`no behaviour speaks of ${kind}`)
  return found
}
