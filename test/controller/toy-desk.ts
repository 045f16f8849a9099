// A second desk, as small as one can be, so that tests can see one desk wait while another works. It looks at buoys and marks
// them as seen.

import { permission, seeing, subresource } from '../../src/controllers/component.ts'
import type { Desk } from '../../src/controllers/desk.ts'
import { desks } from '../../src/controllers/desks.ts'
import { Cache } from '../../src/kube/cache.ts'
import { defineKind, type KubeObject, keyOf, refOf } from '../../src/kube/object.ts'
import { defineReconciler, done } from '../../src/runtime/reconciler.ts'

const buoys = defineKind<KubeObject>({
  group: 'example.org',
  versions: ['v1'],
  plural: 'buoys',
  kind: 'Buoy',
  namespaced: true,
})

export const buoyDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'buoys.example.org' },
  spec: {
    group: buoys.group,
    scope: 'Namespaced',
    names: { kind: buoys.kind, plural: buoys.plural, singular: 'buoy', listKind: 'BuoyList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

export const aBuoy = (namespace: string, name: string) => ({
  apiVersion: 'example.org/v1',
  kind: 'Buoy',
  metadata: { namespace, name },
})

export const toy: Desk = {
  name: 'toy',
  about: 'buoys are marked as seen',
  kinds: [{ kind: buoys, isNeeded: true, comesWith: 'the test', usedAs: 'claim' }],
  permissions: [
    seeing(buoys, 'buoys are not seen'),
    permission(buoys, ['patch'], 'buoys are not marked'),
    permission(subresource(buoys, 'status'), ['patch'], 'buoys have no status'),
  ],
  webhooks: [],
  conversions: [],
  definitions: [buoyDefinition],
  see(office) {
    const cache = new Cache<KubeObject>()
    const seen = office.see(buoys, cache)
    return {
      facts: () => undefined,
      open(domain) {
        const marking = domain.addReconciler(
          defineReconciler({
            name: 'buoy.marking',
            async reconcile(key) {
              const buoy = cache.get(key)
              if (buoy === undefined || buoy.metadata.labels?.seen !== undefined) return done()
              await office.client.mergePatch(buoys, refOf(buoy), { metadata: { labels: { seen: 'yes' } } })
              return done()
            },
          }),
        )
        cache.subscribe(change => marking.mark(keyOf(change.new ?? change.old)))
        seen.neededBy(domain)
      },
    }
  },
}

/** The desks of the product, and the toy. */
export const desksWithToy: readonly Desk[] = [...desks, toy]
