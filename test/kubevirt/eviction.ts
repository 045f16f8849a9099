// A drain evicts launcher pods. virt-api refuses and starts a migration instead, so that the VM lives on elsewhere.

import { must } from '../capi/answers.ts'
import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import type { Client } from '../conformance/client.ts'
import { untilMigrated } from './migrations.ts'
import { setSchedulable } from './nodes.ts'
import { expectReferences, expectSame, inWords, untilAddressed, untilFree, untilReported } from './promises.ts'
import { core, createSite, createVM, isDone, podsOf, untilRunning, vmiStatus } from './vms.ts'

export async function checkEviction(sentences: Sentences, client: Client): Promise<void> {
  const site = await createSite(client, 'eviction')
  const vm = await createVM(site, 'one')
  await untilRunning(site, 'one')
  const addresses = await untilAddressed(site, vm)
  const interfaces = await expectReferences(site, 'one')

  await sentences.it('a launcher pod that is evicted is not: the VM moves, with its addresses', async () => {
    const { nodeName } = await vmiStatus(site, 'one')
    const [pod] = await podsOf(site, 'one')
    const name = pod?.metadata.name ?? ''
    const refused = await client.create(`${core(site)}/pods/${name}/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace: site.namespace },
    })
    expectSame('the answer', '429', String(refused.code))
    if (!refused.body.message.includes('triggered evacuation')) throw new Error(refused.body.message)
    await untilMigrated(site, 'one')
    const { nodeName: now } = await vmiStatus(site, 'one')
    if (now === nodeName) throw new Error(`it is still on ${now}`)
    expectSame('its addresses', inWords(addresses), inWords(await untilAddressed(site, vm)))
    expectSame('its interfaces', interfaces, await expectReferences(site, 'one'))
    await untilReported(site, 'one', addresses)
  })

  await sentences.it('a drained node ends up without launcher pods, and every VM has its addresses', async () => {
    const { nodeName = '' } = await vmiStatus(site, 'one')
    must(await client.merge(`/api/v1/nodes/${nodeName}`, { spec: { unschedulable: true } }))
    await until(`${nodeName} is drained`, async () => {
      const left = (await podsOf(site, 'one')).filter(pod => pod.spec.nodeName === nodeName && !isDone(pod))
      for (const { metadata } of left) {
        const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: metadata.name } }
        await client.create(`${core(site)}/pods/${metadata.name}/eviction`, eviction)
      }
      return left.length === 0 ? undefined : left.map(({ metadata }) => metadata.name).join(', ')
    })
    await untilRunning(site, 'one')
    expectSame('its addresses', inWords(addresses), inWords(await untilAddressed(site, vm)))
    await setSchedulable(client, true)
  })

  await sentences.it('a namespace that is deleted goes to its end, and all addresses are free', async () => {
    must(await client.delete(`/api/v1/namespaces/${site.namespace}`))
    await until('the namespace is gone', async () => {
      const { code, body } = await client.get(`/api/v1/namespaces/${site.namespace}`)
      return code === 404 ? undefined : JSON.stringify(body.status)
    })
    await untilFree(site, 'one', addresses)
  })
}
