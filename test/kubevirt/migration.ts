// A virtual machine that moves to another node while it runs takes its addresses along; one that fails to move keeps them.

import { must } from '../capi/answers.ts'
import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import type { Client } from '../conformance/client.ts'
import { createMigration, untilMigration } from './migrations.ts'
import { failMigrationAnnotation, setSchedulable } from './nodes.ts'
import { expectReferences, expectSame, inWords, untilAddressed, untilReported } from './promises.ts'
import { claim, core, createSite, createVM, isDone, podsOf, type Site, untilRunning, vmiStatus } from './vms.ts'

export async function checkMigration(sentences: Sentences, client: Client): Promise<void> {
  const site = await createSite(client, 'migration')
  const vm = await createVM(site, 'one')
  await untilRunning(site, 'one')
  const addresses = await untilAddressed(site, vm)
  const interfaces = await expectReferences(site, 'one')
  const expectUnchanged = async () => {
    expectSame('its addresses', inWords(addresses), inWords(await untilAddressed(site, vm)))
    expectSame('its interfaces', interfaces, await expectReferences(site, 'one'))
    await untilReported(site, 'one', addresses)
  }

  await sentences.it('a live migration brings the VM to another node, with the same addresses', async () => {
    const before = await vmiStatus(site, 'one')
    await createMigration(site, 'one', 'first')
    await untilMigration(site, 'first', 'Succeeded')
    const after = await vmiStatus(site, 'one')
    if (after.nodeName === before.nodeName) throw new Error(`it is still on ${after.nodeName}`)
    await expectUnchanged()
  })

  await sentences.it('the claims name the pod that runs it now', async () => {
    await expectRuns(site, (await vmiStatus(site, 'one')).nodeName ?? '')
  })

  await sentences.it('a migration that fails leaves the VM where it was, with its addresses', async () => {
    const { nodeName = '' } = await vmiStatus(site, 'one')
    await createMigration(site, 'one', 'failed', { [failMigrationAnnotation]: 'the link is down' })
    await untilMigration(site, 'failed', 'Failed')
    await untilPods(site, 1)
    await expectUnchanged()
    await expectRuns(site, nodeName)
  })

  await sentences.it(
    'while a target pod waits for a node, both pods name the same claims, and the source has them',
    async () => {
      const { nodeName = '' } = await vmiStatus(site, 'one')
      await setSchedulable(client, false, nodeName)
      await createMigration(site, 'one', 'waiting')
      await untilPods(site, 2)
      await expectUnchanged()
      await expectRuns(site, nodeName)
    },
  )

  await sentences.it('a target pod that fails before it runs takes nothing with it', async () => {
    const { nodeName = '' } = await vmiStatus(site, 'one')
    const [target] = (await livingPods(site)).filter(pod => pod.spec.nodeName === undefined)
    must(await client.merge(`${core(site)}/pods/${target?.metadata.name}/status`, { status: { phase: 'Failed' } }))
    await untilMigration(site, 'waiting', 'Failed')
    await untilPods(site, 1)
    await setSchedulable(client, true)
    await expectUnchanged()
    await expectRuns(site, nodeName)
  })

  await sentences.it('the next migration succeeds again', async () => {
    await createMigration(site, 'one', 'second')
    await untilMigration(site, 'second', 'Succeeded')
    await expectUnchanged()
    await expectRuns(site, (await vmiStatus(site, 'one')).nodeName ?? '')
  })
}

/** One pod on this node runs it, and the claims name that pod. */
async function expectRuns(site: Site, nodeName: string): Promise<void> {
  expectSame('its node', nodeName, (await vmiStatus(site, 'one')).nodeName ?? '')
  const own = (await livingPods(site)).filter(pod => pod.spec.nodeName === nodeName)
  expectSame('how many pods run it', '1', String(own.length))
  await untilOwnedBy(site, own[0]?.metadata.name ?? '')
}

const livingPods = async (site: Site) => (await podsOf(site, 'one')).filter(pod => !isDone(pod))

async function untilPods(site: Site, count: number): Promise<void> {
  await until(`${count} launcher pods live`, async () => {
    const living = (await livingPods(site)).length
    return living === count ? undefined : `${living} do`
  })
}

async function untilOwnedBy(site: Site, pod: string): Promise<void> {
  for (const name of ['one.lan', 'one.blue']) {
    await until(`${name} names ${pod}`, async () => {
      const { ownerPod } = ((await claim(site, name))?.status ?? {}) as { ownerPod?: { name: string } }
      return ownerPod?.name === pod ? undefined : `it names ${ownerPod?.name ?? 'none'}`
    })
  }
}
