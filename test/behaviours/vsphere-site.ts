// Machines of a world in which Mooring makes their virtual machines, at a stand-in for a vCenter.

import { expect } from 'vitest'
import type { Clock } from '../../src/runtime/clock.ts'
import { StandInVCenter } from '../harness/stand-in-vcenter.ts'
import { VirtualClock } from '../harness/virtual-clock.ts'
import type { DesksUnderTest } from './desk.ts'
import { nextName } from './machines.ts'
import { aMachine, aProviderSpec, claimOf } from './openshift-machines.ts'
import { aWorld, type Stored, type World } from './world.ts'

type Devices = Parameters<typeof aProviderSpec>[0]

export interface Site {
  readonly world: World
  readonly vcenter: StandInVCenter
  /** For another process of the same kind. */
  readonly desks: DesksUnderTest
}

const secrets = { group: '', versions: ['v1'], plural: 'secrets', kind: 'Secret', namespaced: true } as const

export async function aSite(): Promise<Site> {
  // The world's clock is there only with the world; the stand-in asks for the time when it is called.
  let clock: Clock = new VirtualClock()
  const vcenter = new StandInVCenter({
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    setTimer: (ms, fire) => clock.setTimer(ms, fire),
  })
  const servers = new Map([['vcenter.example', 'vcenter.example']])
  const desks: DesksUnderTest = {
    machineMode: 'full',
    vcenters: { servers, connect: vcenter.connect },
    isOfHomeAlone: true,
  }
  const world = await aWorld(desks)
  clock = world.clock
  await aSecret(world, 'vsphere-cloud-credentials', {
    'vcenter.example.username': 'u',
    'vcenter.example.password': 'p',
  })
  await aSecret(world, 'worker-user-data', { userData: '{}' })
  return { world, vcenter, desks }
}

export async function aSecret(world: World, name: string, texts: Readonly<Record<string, string>>): Promise<void> {
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  )
  const secret: Stored = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: world.home }, data }
  await world.client.create(secrets, secret)
}

export const workspace = {
  server: 'vcenter.example',
  datacenter: 'dc',
  datastore: 'ds',
  folder: '/dc/vm/c1',
  resourcePool: '/dc/host/cluster/Resources',
}

export const specOf = (devices: Devices, more: Readonly<Record<string, unknown>> = {}) =>
  aProviderSpec(devices, { workspace, ...more })

/** A Machine that can be made at the stand-in. */
export const aVM = (devices: Devices, more: Readonly<Record<string, unknown>> = {}): Stored => ({
  ...aMachine(devices, { name: nextName('worker') }),
  spec: { providerSpec: { value: specOf(devices, more) } },
})

export const kargsKey = 'guestinfo.afterburn.initrd.network-kargs'

export const vmOf = ({ vcenter }: Site, machine: Stored) => vcenter.named(machine.metadata.name ?? '')

export const conditionOf = (machine: Stored | undefined, type: string) =>
  machine?.status?.providerStatus?.conditions?.find((one: { type: string }) => one.type === type)

/** A lost answer is believed to be lost only after minutes. */
const patienceMs = 400_000

export function runs(site: Site, machine: Stored): Promise<Stored> {
  return site.world.eventually(async () => {
    const now = (await site.world.get(machine)) as Stored
    expect(now.status).toMatchObject({ phase: 'Provisioned' })
    expect(vmOf(site, machine)?.powerState).toBe('poweredOn')
    return now
  }, patienceMs)
}

export function says({ world }: Site, machine: Stored, type: string, said: object): Promise<void> {
  return world.eventually(
    async () => expect(conditionOf(await world.get(machine), type)).toMatchObject(said),
    patienceMs,
  )
}

/** The Machine, its claim and its virtual machine are gone; the claim never before the virtual machine. */
export async function goes(site: Site, machine: Stored): Promise<void> {
  const { world } = site
  await world.eventually(async () => {
    const claim = await world.get(claimOf(machine))
    if (claim === undefined) expect(vmOf(site, machine)).toBeUndefined()
    expect(await world.get(machine)).toBeUndefined()
    expect(claim).toBeUndefined()
  }, patienceMs)
  expect(vmOf(site, machine)).toBeUndefined()
}
