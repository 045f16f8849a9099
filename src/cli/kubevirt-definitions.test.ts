import { expect, test } from 'vitest'
import { ok } from '../../test/harness/client.ts'
import { definitions } from '../../test/harness/objects.ts'
import { silentLog } from '../../test/harness/silent-log.ts'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { aWorld, certificates, toDER, type World } from '../../test/harness/world.ts'
import { speak } from '../kube/speak.ts'
import { type Definition, definitionsOf } from './definitions.ts'
import { embeddedWire } from './embedded-wire.ts'
import { keepDefinitions } from './kept-definitions.ts'
import { keepKubeVirtDefinitions } from './kubevirt-definitions.ts'

const name = 'virtualmachines.kubevirt.io'
const fieldManager = 'mooring-playground'

function partsIn(world: World) {
  const clock = new VirtualClock()
  const peerCertificate = toDER(certificates().admin().certificate)
  const wire = embeddedWire({ handler: () => world.server.handler, peerCertificate })
  const { client } = speak({ wire, clock, name: 'mooring' })
  return { client, clock, random: () => 0, log: silentLog }
}

async function keepIn(world: World): Promise<void> {
  const kept = await keepKubeVirtDefinitions(partsIn(world))
  expect(kept.problems()).toEqual([])
  await kept.stop()
}

/** As a playground did whose kinds were others. */
async function keepOlderIn(world: World, description: string): Promise<void> {
  const standIns = [described(description)]
  const kept = await keepDefinitions({ ...partsIn(world), wanted: [], standIns, fieldManager })
  await kept.stop()
}

interface Described {
  readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: { readonly description: string } } }[]
}

async function descriptionIn(world: World): Promise<string | undefined> {
  const { spec } = ok(await world.admin.get(`${definitions}/${name}`)) as unknown as { spec: Described }
  return spec.versions[0]?.schema.openAPIV3Schema.description
}

/** What is there, with another schema. */
async function withDescription(world: World, description: string): Promise<object> {
  const { metadata } = ok(await world.admin.get(`${definitions}/${name}`)) as { metadata: object }
  return { ...described(description), metadata }
}

/** Ours, with a schema that says something else. */
function described(description: string): Definition {
  const own = definitionsOf([{ definitions: ['crd/kubevirt/'] }]).find(({ metadata }) => metadata.name === name)
  const changed = structuredClone(own) as unknown as Definition & { spec: { versions: { schema: object }[] } }
  for (const version of changed.spec.versions) {
    const openAPIV3Schema = { type: 'object', description, 'x-kubernetes-preserve-unknown-fields': true }
    version.schema = { openAPIV3Schema }
  }
  return changed
}

test("the playground brings KubeVirt's kinds to a server that has none of them", async () => {
  const world = await aWorld()
  await keepIn(world)
  expect(await descriptionIn(world)).toBe('VirtualMachine, as the playground of Mooring knows it.')
  for (const plural of ['virtualmachineinstances', 'virtualmachineinstancemigrations', 'kubevirts']) {
    ok(await world.admin.get(`${definitions}/${plural}.kubevirt.io`))
  }
})

test('a newer playground brings its newer kinds', async () => {
  const world = await aWorld()
  await keepOlderIn(world, 'An older text')
  expect(await descriptionIn(world)).toBe('An older text')
  await keepIn(world)
  expect(await descriptionIn(world)).toBe('VirtualMachine, as the playground of Mooring knows it.')
})

test('a newer playground leaves the kinds of KubeVirt as they are, and those of its own that the user changed', async () => {
  const [foreign, changed] = [await aWorld(), await aWorld()]
  ok(await foreign.admin.create(definitions, described('VirtualMachine of KubeVirt')))
  await keepOlderIn(changed, 'An older text')
  ok(await changed.admin.update(`${definitions}/${name}`, await withDescription(changed, 'What a user wrote')))
  await keepIn(foreign)
  await keepIn(changed)
  expect(await descriptionIn(foreign)).toBe('VirtualMachine of KubeVirt')
  expect(await descriptionIn(changed)).toBe('What a user wrote')
})
