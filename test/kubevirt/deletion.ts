// A virtual machine that is deleted gives its addresses back, and not before its last pod is gone.

import { must } from '../capi/answers.ts'
import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import type { Body, Client } from '../conformance/client.ts'
import {
  type Addresses,
  expectHeld,
  expectReferences,
  expectSame,
  inWords,
  untilAddressed,
  untilFree,
  untilReported,
} from './promises.ts'
import {
  ask,
  claim,
  core,
  createSite,
  createVM,
  isDone,
  kubevirt,
  podsOf,
  type Site,
  untilRunning,
  untilStopped,
  vmi,
} from './vms.ts'

type Propagation = 'Background' | 'Foreground' | 'Orphan'

export async function checkDeletion(sentences: Sentences, client: Client): Promise<void> {
  const site = await createSite(client, 'deletion')

  for (const propagation of ['Background', 'Foreground'] as const) {
    const name = propagation.toLowerCase()
    await sentences.it(`deleted in the ${name}, the VM keeps its addresses until its pod is gone`, async () => {
      const { addresses } = await startVM(site, name)
      const letGo = await keepPod(site, name)
      await deleteVM(site, name, propagation)
      await until('the pod is about to go', async () => {
        const [pod] = await podsOf(site, name)
        return pod?.metadata.deletionTimestamp === undefined ? 'it is not' : undefined
      })
      await expectHeld(site, addresses)
      await letGo()
      await untilFree(site, name, addresses)
      await until('all of it is gone', async () => ((await vmi(site, name)) === undefined ? undefined : 'the instance'))
    })
  }

  await sentences.it('a VM whose instance is orphaned leaves the addresses to the instance', async () => {
    const { addresses, vm } = await startVM(site, 'orphan')
    await deleteVM(site, 'orphan', 'Orphan')
    await until('the VM is gone', async () => {
      const { code } = await client.get(`${kubevirt(site)}/virtualmachines/orphan`)
      return code === 404 ? undefined : String(code)
    })
    const instance = (await vmi(site, 'orphan')) as Body
    expectSame('its phase', 'Running', (instance.status as { phase: string }).phase)
    if (instance.metadata.ownerReferences?.some(({ uid }) => uid === vm.metadata.uid))
      throw new Error('it has its owner')
    expectSame('its addresses', inWords(addresses), inWords(await untilAddressed(site, instance)))
    await expectReferences(site, 'orphan')
    must(await client.delete(`${kubevirt(site)}/virtualmachineinstances/orphan`))
    await untilFree(site, 'orphan', addresses)
  })

  await sentences.it(
    'a claim that a user deletes stays as long as its VM: stopped, started again, with its address',
    async () => {
      const { vm, addresses } = await startVM(site, 'claim')
      await deleteClaim(site, 'claim.lan')
      await ask(site, 'claim', 'stop')
      await untilStopped(site, 'claim')
      await expectHeld(site, addresses)
      await ask(site, 'claim', 'start')
      await untilRunning(site, 'claim')
      expectSame('its addresses', inWords(addresses), inWords(await untilAddressed(site, vm)))
      await expectReferences(site, 'claim')
      await untilReported(site, 'claim', addresses)
      await deleteVM(site, 'claim', 'Background')
      await untilFree(site, 'claim', addresses)
    },
  )

  await sentences.it('a VM that is torn away by force leaves its addresses held while its pod lives', async () => {
    const { addresses } = await startVM(site, 'torn')
    const letGo = await keepPod(site, 'torn')
    await tearAway(site, 'torn')
    await until('its claims are about to go', async () => {
      const found = await claim(site, 'torn.lan')
      if (found === undefined) throw new Error('it is gone')
      return found.metadata.deletionTimestamp === undefined ? 'torn.lan is not' : undefined
    })
    await expectHeld(site, addresses)
    await letGo()
    await untilFree(site, 'torn', addresses)
  })

  await sentences.it('a VM of the same name that comes after is another one, with claims of its own', async () => {
    const { vm } = await startVM(site, 'background')
    const [owner] = (await claim(site, 'background.lan'))?.metadata.ownerReferences ?? []
    expectSame('the owner of the claim', vm.metadata.uid, String(owner?.uid))
  })
}

async function startVM(site: Site, name: string): Promise<{ vm: Body; addresses: Addresses }> {
  const vm = await createVM(site, name)
  await untilRunning(site, name)
  return { vm, addresses: await untilAddressed(site, vm) }
}

async function deleteVM(site: Site, name: string, propagationPolicy: Propagation): Promise<void> {
  const options = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy }
  must(await site.client.delete(`${kubevirt(site)}/virtualmachines/${name}`, options))
}

async function deleteClaim(site: Site, name: string): Promise<void> {
  must(await site.client.delete(`/apis/k8s.cni.cncf.io/v1alpha1/namespaces/${site.namespace}/ipamclaims/${name}`))
}

/** What an administrator does who does not want to wait: without its finalizers, nothing but the pod is left. */
async function tearAway(site: Site, name: string): Promise<void> {
  for (const plural of ['virtualmachines', 'virtualmachineinstances']) {
    const path = `${kubevirt(site)}/${plural}/${name}`
    await site.client.delete(path)
    await until(`${plural}/${name} is gone`, async () => {
      await site.client.merge(path, { metadata: { finalizers: null } })
      const { code } = await site.client.get(path)
      return code === 404 ? undefined : String(code)
    })
  }
}

/** The pod ends as slowly as a guest that takes its time. Answers with what lets it go. */
async function keepPod(site: Site, vm: string): Promise<() => Promise<void>> {
  const [pod] = (await podsOf(site, vm)).filter(one => !isDone(one))
  const path = `${core(site)}/pods/${pod?.metadata.name}`
  must(await site.client.merge(path, { metadata: { finalizers: ['test.mooring.dev/guest-shuts-down'] } }))
  return async () => {
    must(await site.client.merge(path, { metadata: { finalizers: null } }))
  }
}
