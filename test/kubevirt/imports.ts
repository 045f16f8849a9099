// Virtual machines that move in with the MAC and the addresses they had, on a network that takes the place of the pod network
// and has the gateway they know.

import { must } from '../capi/answers.ts'
import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import type { Body, Client } from '../conformance/client.ts'
import { apply } from './apply.ts'
import {
  aMovingVM,
  byDefaultNetwork,
  byInterface,
  card,
  createHome,
  createMovingVM,
  everythingHeld,
  type Home,
  networkName,
  v4,
  v6,
} from './homes.ts'
import { createMigration, untilMigration } from './migrations.ts'
import { claimNameOf, conditionsOf, type Moved, untilMoved, untilNothingHeld } from './moved.ts'
import { expectSame } from './promises.ts'
import { ask, claim, core, kubevirt, podsOf, untilRunning, untilStopped, vmi, vmiStatus } from './vms.ts'

export async function checkImports(sentences: Sentences, client: Client): Promise<void> {
  const home = await createHome(client, 'imports')
  const had = (host: number): Moved => ({ mac: `00:50:56:01:02:${host}`, ips: [v4(home, host), v6(home, host)] })
  const payroll = had(20)
  let vm: Body | undefined
  const untilKept = async () => {
    if (vm === undefined) throw new Error('it did not move in')
    return untilMoved(home, vm, payroll)
  }

  await sentences.it('a VM that asks by interface runs with the MAC and the addresses it had', async () => {
    vm = await createMovingVM(home, 'payroll', { mac: payroll.mac, annotations: byInterface(...payroll.ips) })
    await untilRunning(home, 'payroll')
    await untilKept()
  })

  await sentences.it('a VM that asks by the default network does too', async () => {
    const moved = had(21)
    const annotations = byDefaultNetwork(moved.mac, `${moved.ips[0]}/24`, `${moved.ips[1]}/64`)
    const asking = await createMovingVM(home, 'mail', { annotations })
    await untilRunning(home, 'mail')
    await untilMoved(home, asking, moved)
  })

  await sentences.it('stopped it keeps them, and has them when it is started again', async () => {
    const [before] = await podsOf(home, 'payroll')
    await ask(home, 'payroll', 'stop')
    await untilStopped(home, 'payroll')
    await expectStillHeld(home, 'payroll', payroll)
    await ask(home, 'payroll', 'start')
    await untilRunning(home, 'payroll')
    expectSame('whether the pod is another', 'true', String((await untilKept()) !== before?.metadata.name))
  })

  for (const name of ['payroll', 'mail']) {
    await sentences.it(`a live migration keeps them (${name})`, async () => {
      const machine = must(await client.get(`${kubevirt(home)}/virtualmachines/${name}`))
      const before = await vmiStatus(home, name)
      await createMigration(home, name, `move-${name}`)
      await untilMigration(home, `move-${name}`, 'Succeeded')
      if ((await vmiStatus(home, name)).nodeName === before.nodeName) throw new Error('it is where it was')
      await untilMoved(home, machine, name === 'payroll' ? payroll : had(21))
    })
  }

  await sentences.it('a second VM that asks for one of the addresses waits, and it is told why', async () => {
    const [ip = ''] = payroll.ips
    await createMovingVM(home, 'copy', { mac: had(22).mac, annotations: byInterface(ip) })
    const words = `Requested IP ${ip} is already assigned in the network`
    const expected = [`IPAllocated False IPAlreadyExists ${words}`, `IPsAllocated False IPAddressConflict ${words}`]
    await until('its claim says so', async () => {
      const said = conditionsOf(await claim(home, claimNameOf('copy')))
      const now = said.map(({ type, status, reason, message }) => `${type} ${status} ${reason} ${message}`)
      return now.join() === expected.join() ? undefined : now.join('; ')
    })
    await untilWarned(home, 'copy', words)
    expectSame('what it holds', '', held(await everythingHeld(home), 'copy'))
    const { phase } = await vmiStatus(home, 'copy')
    if (phase === 'Running') throw new Error('it runs')
    await untilKept()
  })

  await sentences.it('a VM that is deleted gives all of it back, and the second has the address', async () => {
    must(await client.delete(`${kubevirt(home)}/virtualmachines/payroll`))
    await untilNothingHeld(home, 'payroll')
    await untilRunning(home, 'copy')
    const copy = must(await client.get(`${kubevirt(home)}/virtualmachines/copy`))
    // No address of IPv6 was asked for: it has the first.
    await untilMoved(home, copy, { mac: had(22).mac, ips: [v4(home, 20), v6(home, 1)] })
  })

  await sentences.it(
    'a VM whose MAC an IPPool has for it gets the addresses of the entry, and no other VM does',
    async () => {
      const moved = had(23)
      await apply(client, anIPPool(home, 'web', moved))
      const stranger = await createMovingVM(home, 'stranger', { mac: moved.mac })
      await until('the stranger is refused', async () => {
        const said = conditionsOf(await claim(home, claimNameOf(stranger.metadata.name)))
        const reason = said.find(({ type }) => type === 'IPsAllocated')?.reason
        return reason === 'MACAddressReserved' ? undefined : String(reason)
      })
      const web = await createMovingVM(home, 'web', { mac: moved.mac })
      await untilRunning(home, 'web')
      await untilMoved(home, web, moved)
      must(await client.delete(`${kubevirt(home)}/virtualmachines/stranger`))
      await untilNothingHeld(home, 'stranger')
    },
  )

  await sentences.it('the IPPool says which VM has them', async () => {
    await until('it does', async () => {
      const { status } = must(await client.get(`/apis/ippool.k8s.cni.cncf.io/v1alpha/ippools/${home.network}`))
      const { 'in-use': inUse = [] } = (status ?? {}) as { 'in-use'?: Record<string, unknown>[] }
      const own = inUse.find(one => one['virtual-machine'] === 'web')
      const seen = JSON.stringify([own?.mac, own?.reserved])
      return seen === JSON.stringify([had(23).mac, true]) ? undefined : JSON.stringify(inUse)
    })
  })

  await sentences.it('a VM adopts the claim that was made for it beforehand, with what that asks for', async () => {
    const moved = had(24)
    await apply(client, {
      apiVersion: 'k8s.cni.cncf.io/v1alpha1',
      kind: 'IPAMClaim',
      metadata: { name: `ldap.${card}`, namespace: home.namespace },
      spec: { network: networkName(home), interface: '', mac: moved.mac, ips: moved.ips },
    })
    const ldap = await createMovingVM(home, 'ldap', { mac: moved.mac })
    await untilRunning(home, 'ldap')
    await untilMoved(home, ldap, moved)
  })

  await sentences.it('what the network cannot give is told to the user: at once, or by the claim', async () => {
    const bad = aMovingVM(home, 'bad', { annotations: byInterface('10.9.9.9') })
    const { code, body } = await client.create(`${kubevirt(home)}/virtualmachines`, bad)
    const words = '10.9.9.9 is not among the addresses'
    // kube-apiserver does not prove who it is unless it is set up to.
    if (code === 422) return expectWords(body.message, words)
    expectSame('the answer', '201', String(code))
    await until('its claim says why', async () => {
      const said = conditionsOf(await claim(home, claimNameOf('bad'))).map(({ message }) => message)
      return said.some(message => message.includes(words)) ? undefined : said.join('; ')
    })
    await untilInstanceSays(home, 'bad', words)
  })

  await sentences.it('all of them deleted, nothing is held', async () => {
    const { items } = must(await client.get(`${kubevirt(home)}/virtualmachines`))
    for (const { metadata } of items) must(await client.delete(`${kubevirt(home)}/virtualmachines/${metadata.name}`))
    for (const { metadata } of items) await untilNothingHeld(home, metadata.name)
    expectSame('what is held', '{}', JSON.stringify(await everythingHeld(home)))
  })
}

function expectWords(text: string, words: string): void {
  if (!text.includes(words)) throw new Error(text)
}

/** virt-controller passes on why the pod could not be made. */
async function untilInstanceSays(home: Home, name: string, words: string): Promise<void> {
  await until(`the instance ${name} says so`, async () => {
    const said = conditionsOf(await vmi(home, name)).map(({ type, message }) => `${type}: ${message}`)
    return said.some(one => one.includes(words)) ? undefined : said.join('; ')
  })
}

const held = (all: Readonly<Record<string, string>>, vm: string): string =>
  Object.entries(all)
    .flatMap(([what, by]) => (by === claimNameOf(vm) ? [what] : []))
    .join(' ')

async function expectStillHeld(home: Home, vm: string, { mac, ips }: Moved): Promise<void> {
  const all = await everythingHeld(home)
  for (const one of [mac, ...ips]) expectSame(`what holds ${one}`, claimNameOf(vm), all[one] ?? 'nothing')
}

async function untilWarned(home: Home, vm: string, words: string): Promise<void> {
  await until(`an event on the pod of ${vm} says so`, async () => {
    const names = (await podsOf(home, vm)).map(({ metadata }) => metadata.name)
    const { items } = must(await home.client.get(`/apis/events.k8s.io/v1/namespaces/${home.namespace}/events`))
    const events = items as unknown as { regarding?: { name?: string }; note?: string }[]
    const notes = events.flatMap(({ regarding, note = '' }) => (names.includes(regarding?.name ?? '') ? [note] : []))
    return notes.some(note => note.includes(words)) ? undefined : `${core(home)} ${notes.join('; ')}`
  })
}

/** The entry is for one machine of one namespace. */
const anIPPool = (home: Home, virtualMachine: string, { mac, ips }: Moved) => ({
  apiVersion: 'ippool.k8s.cni.cncf.io/v1alpha',
  kind: 'IPPool',
  metadata: { name: home.network },
  spec: {
    'network-name': networkName(home),
    entries: { [mac]: ips.map(ip => `${ip}/${ip.includes(':') ? 64 : 24}`) },
    bindings: { [mac]: { namespace: home.namespace, virtualMachine } },
  },
})
