import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/harness/client.ts'
import { aPod, pods } from '../../../test/harness/objects.ts'
import { aWorld } from '../../../test/harness/world.ts'

const image = 'example.com/image:1'
const burstable = {
  nodeName: 'node',
  containers: [{ name: 'main', image, resources: { requests: { cpu: '1', memory: '1Gi' } } }],
  initContainers: [
    { name: 'first', image, resources: { requests: { cpu: '1' } } },
    { name: 'beside', image, restartPolicy: 'Always', resources: { requests: { cpu: '1' } } },
  ],
}
const main = (resources: object, more: object = {}) => ({ containers: [{ name: 'main', resources, ...more }] })

async function resized(spec: object, change: object, metadata: object = {}) {
  const { admin } = await aWorld()
  ok(await admin.create(pods(), aPod('one', spec)))
  return admin.patch(`${pods()}/one/resize`, { spec: change, metadata }, 'strategic')
}

describe('a resize', () => {
  test('changes cpu and memory, also of a container beside, and passes over all else', async () => {
    const beside = { name: 'beside', resources: { requests: { cpu: '3' } } }
    const change = {
      ...main({ requests: { cpu: '2' } }, { image: 'other' }),
      initContainers: [beside],
      nodeName: 'other',
    }
    const { spec, metadata } = ok(await resized(burstable, change, { labels: { a: 'b' } }))
    expect(spec).toMatchObject({
      nodeName: 'node',
      containers: [{ image, resources: { requests: { cpu: '2', memory: '1Gi' } } }],
      initContainers: [{ name: 'first' }, { name: 'beside', resources: { requests: { cpu: '3' } } }],
    })
    expect(metadata).not.toHaveProperty('labels')
    expect(metadata.generation).toBe(2)
  })

  test.each([
    [
      'another quality of service',
      { nodeName: 'node' },
      main({ requests: { cpu: '1' } }),
      'spec: Invalid value: "BestEffort": Pod QOS Class may not change as a result of resizing',
    ],
    [
      'less than it had at all',
      burstable,
      main({ requests: { cpu: null } }),
      'spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed',
    ],
    [
      'another resource',
      burstable,
      main({ requests: { 'ephemeral-storage': '1Gi' } }),
      'spec: Forbidden: only cpu and memory resources are mutable',
    ],
    [
      'another container',
      burstable,
      { containers: [{ name: 'more', image }] },
      'spec.containers: Forbidden: containers may not be added or removed on resize',
    ],
    [
      'something for a container that has ended',
      burstable,
      { initContainers: [{ name: 'first', resources: { requests: { cpu: '2' } } }] },
      'spec: Forbidden: resources for non-sidecar init containers are immutable',
    ],
  ])('that asks for %s is refused', async (_, spec, change, fault) => {
    expect(await resized(spec, change)).toMatchObject({
      code: 422,
      body: { message: `Pod "one" is invalid: ${fault}` },
    })
  })
})
