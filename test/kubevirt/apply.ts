// Objects of any kind, as manifests have them, put where the server says that they belong.

import { must } from '../capi/answers.ts'
import { until } from '../capi/until.ts'
import type { Body, Client } from '../conformance/client.ts'

interface Resource {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
}

/** Server-side apply: some definitions are longer than the annotation of the other kind may be. */
export async function apply(client: Client, ...objects: readonly object[]): Promise<void> {
  for (const object of objects as readonly Body[]) {
    must(await client.apply(await pathOf(client, object), 'test-kubevirt', object, '&force=true'))
  }
}

async function pathOf(client: Client, { apiVersion, kind, metadata }: Body): Promise<string> {
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const { resources } = must(await client.get(base)) as unknown as { resources: Resource[] }
  const found = resources.find(one => one.kind === kind && !one.name.includes('/'))
  if (found === undefined) throw new Error(`${apiVersion} ${kind} is not served`)
  const place = found.namespaced ? `/namespaces/${metadata.namespace ?? 'default'}` : ''
  return `${base}${place}/${found.name}/${metadata.name}`
}

/** Definitions, until objects of them can be written. */
export async function define(client: Client, ...definitions: readonly object[]): Promise<void> {
  await apply(client, ...definitions)
  await until('the definitions are served', async () => {
    const missing: string[] = []
    for (const { metadata, spec } of definitions as readonly Body[]) {
      const { group, versions } = spec as { group: string; versions: { name: string; served: boolean }[] }
      for (const version of versions.filter(({ served }) => served)) {
        const [plural] = metadata.name.split('.')
        const { code } = await client.get(`/apis/${group}/${version.name}/${plural}?limit=1`)
        if (code !== 200) missing.push(`${metadata.name} ${version.name}`)
      }
    }
    return missing.length === 0 ? undefined : missing.join(', ')
  })
}
