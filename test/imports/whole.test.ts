// An import from the exported file to the machine that has what it had: planned, made, served by the desks, and reported.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type ImportPlanOptions, planWith, statusWith } from '../../src/cli/import.ts'
import { desks } from '../../src/controllers/desks.ts'
import { ipPools } from '../../src/controllers/office/kinds.ts'
import { virtualMachineInstances } from '../../src/controllers/vm/kinds.ts'
import type { CardStatus } from '../../src/imports/status.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { aWorld, type Stored, type World } from '../behaviours/world.ts'
import { aVM } from './server.ts'

const namespace = 'shop'
const csv = `VM,Powerstate,NIC label,Network,Starts Connected,Mac Address,IPv4 Address,VM ID
web,poweredOn,card 1,VM Network,True,00:50:56:AA:BB:05,10.0.0.5,vm-1
db,poweredOff,card 1,VM Network,True,00:50:56:AA:BB:06,10.0.0.6,vm-2
`

async function plannedBy(world: World): Promise<{ readonly code: number; readonly objects: readonly Stored[] }> {
  const directory = await mkdtemp(join(tmpdir(), 'mooring-import-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const file = join(directory, 'vNetwork.csv')
  await writeFile(file, csv)
  const options: ImportPlanOptions = {
    namespace,
    map: ['VM Network=cudn:blue'],
    subnet: ['VM Network=10.0.0.0/24,10.0.0.254'],
    output: 'json',
    defaultNetworkNamespace: 'ovn-kubernetes',
  }
  let text = ''
  const code = await planWith({ client: world.client, namespace }, [file], options, line => {
    text += line
  })
  return { code, objects: JSON.parse(text).objects }
}

async function statusOf(world: World): Promise<string[]> {
  let text = ''
  await statusWith({ client: world.client, namespace }, { namespace, output: 'json' }, line => {
    text += line
  })
  const { cards } = JSON.parse(text) as { cards: CardStatus[] }
  return cards.map(({ machine, state, message }) => `${machine} ${state}: ${message}`)
}

/** As KubeVirt makes it of a VirtualMachine that is started. */
function instanceOf({ apiVersion = '', metadata: { name = '', uid = '' }, spec }: Stored): KubeObject & Stored {
  const owner = { apiVersion, kind: 'VirtualMachine', name, uid, controller: true }
  const { annotations } = spec.template.metadata
  return {
    apiVersion,
    kind: 'VirtualMachineInstance',
    metadata: { name, namespace, annotations, ownerReferences: [owner] },
    spec: spec.template.spec,
  }
}

test('machines are planned from a file, made, and given the MACs and addresses they had; the plan is then empty of faults', async () => {
  const world = await aWorld({ desks })
  const { code, objects } = await plannedBy(world)
  expect(code).toBe(0)
  for (const object of objects) {
    if (object.kind === 'IPPool') await world.client.create(ipPools, object)
    else await world.create(object)
  }
  await world.eventually(async () =>
    expect(await statusOf(world)).toEqual([
      'shop/db ready: 10.0.0.6/24 is held for it; it does not run',
      'shop/web ready: 10.0.0.5/24 is held for it; it does not run',
    ]),
  )
  const web = objects.find(({ kind, metadata }) => kind === 'VirtualMachine' && metadata.name === 'web')
  const stored = web && (await world.get(web))
  if (stored === undefined) throw new Error('there is no VirtualMachine web')
  const instance = await world.create(instanceOf(stored))
  const interfaces = [{ name: 'net-0', mac: '00:50:56:aa:bb:05', ipAddresses: ['10.0.0.5'] }]
  const ref = { namespace, name: instance.metadata.name ?? '' }
  await world.client.mergePatch(virtualMachineInstances, ref, { status: { phase: 'Running', interfaces } })
  await world.eventually(async () =>
    expect(await statusOf(world)).toContain('shop/web kept: it runs with what it had; 10.0.0.5/24 is held for it'),
  )
  expect((await plannedBy(world)).code).toBe(0)
})

test('a machine that asks for the address of an imported one does not get it, and the status of neither hides it', async () => {
  const world = await aWorld({ desks })
  const { objects } = await plannedBy(world)
  for (const object of objects.filter(({ kind }) => kind !== 'VirtualMachine')) {
    if (object.kind === 'IPPool') await world.client.create(ipPools, object)
    else await world.create(object)
  }
  await world.create(aVM(namespace, 'thief', { mac: '02:00:00:00:00:01', ip: '10.0.0.5', source: 'x/y' }))
  await world.eventually(async () =>
    expect(await statusOf(world)).toEqual([expect.stringMatching(/^shop\/thief failed: .*10\.0\.0\.5/)]),
  )
  for (const object of objects.filter(({ kind }) => kind === 'VirtualMachine')) await world.create(object)
  await world.eventually(async () =>
    expect(await statusOf(world)).toContain('shop/web ready: 10.0.0.5/24 is held for it; it does not run'),
  )
})
