// A wait that ended in vain on a server cannot be repeated: the failure carries what there was. The objects as they are stored,
// which of them the desk has in another version, and what it logged about them and about its watches.

import type { Client } from '../../src/kube/client.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'
import type { DeskUnderTest, Line } from './desk.ts'
import { claims, clusters, holds, pools, reports } from './kinds.ts'

export async function describeLastLook(client: Client, home: string, desks: readonly DeskUnderTest[]): Promise<void> {
  const lines = [`in ${home} there was:`]
  for (const kind of [claims, reports, holds, clusters, ...pools]) {
    const there = (await stored(client, kind)).filter(object => isAbout(object, home))
    lines.push(...there.map(object => JSON.stringify(withoutManagers(object))))
    for (const desk of desks) {
      const known = [...desk.view(kind).values()].filter(object => isAbout(object, home))
      lines.push(...differences(there, known).map(difference => `  but a desk knows ${difference}`))
    }
  }
  for (const [i, desk] of desks.entries()) {
    lines.push(`desk ${i + 1} of ${desks.length} said:`)
    for (const line of desk.diary) if (isAbout(line, home) || isAboutWatches(line)) lines.push(JSON.stringify(line))
    lines.push(...desk.metrics().split('\n').filter(isAboutWork))
  }
  console.error(lines.join('\n'))
}

async function stored(client: Client, kind: Kind): Promise<readonly KubeObject[]> {
  try {
    return (await client.list(kind)).items
  } catch {
    // Some stories take the kind away.
    return []
  }
}

function differences(there: readonly KubeObject[], known: readonly KubeObject[]): string[] {
  const has = (objects: readonly KubeObject[], { metadata }: KubeObject) =>
    objects.some(one => one.metadata.uid === metadata.uid && one.metadata.resourceVersion === metadata.resourceVersion)
  return [
    ...there.filter(object => !has(known, object)).map(object => `nothing of version ${versionOf(object)}`),
    ...known.filter(object => !has(there, object)).map(object => `a version ${versionOf(object)}`),
  ]
}

const versionOf = ({ kind, metadata }: KubeObject): string => `${metadata.resourceVersion} of ${kind} ${metadata.name}`

/** No other test has namespaces of these names. */
function isAbout(thing: object, home: string): boolean {
  return JSON.stringify(thing, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes(home)
}

const isAboutWatches = ({ level, reconciler }: Line): boolean => level === 'error' || reconciler === undefined

const isAboutWork = (line: string): boolean =>
  /^mooring_(queue_(depth|running|later)|reflector_(state|streams|lists)|passes)/.test(line) && !line.endsWith(' 0')

function withoutManagers(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata as KubeObject['metadata'] & { managedFields?: unknown }
  return { ...object, metadata }
}
