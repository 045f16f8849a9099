import { expect, test } from 'vitest'
import { ok } from '../../test/harness/client.ts'
import { aWidget, aWidgetDefinition, definitions, widgets } from '../../test/harness/objects.ts'
import { aWorld, certificates, toDER } from '../../test/harness/world.ts'
import { speak } from '../kube/speak.ts'
import type { Clock } from '../runtime/clock.ts'
import { createLog } from '../telemetry/log.ts'
import type { Definition } from './definitions.ts'
import { embeddedWire } from './embedded-wire.ts'
import { keepDefinitions } from './kept-definitions.ts'

const name = 'widgets.example.com'
const hold = 'example.com/hold'

/** The timers of the world, whose time a test lets pass. */
const clock: Clock = {
  now: () => 0,
  monotonicMs: () => 0,
  setTimer(delayMs, fire) {
    const timer = setTimeout(fire, delayMs)
    return () => clearTimeout(timer)
  },
}

async function aServer() {
  const world = await aWorld()
  const peerCertificate = toDER(certificates().admin().certificate)
  const wire = embeddedWire({ handler: () => world.server.handler, peerCertificate })
  const { client } = speak({ wire, clock, name: 'mooring' })
  const lines: string[] = []
  const log = createLog({ write: line => lines.push(line), now: () => 0, level: 'error', form: 'text' })
  const wanted = [aWidgetDefinition() as unknown as Definition]
  return {
    world,
    lines,
    keep: () => keepDefinitions({ client, wanted, fieldManager: 'mooring', clock, random: () => 0, log }),
    async standIn(singular: string) {
      const standIns = [aWidgetDefinition({ names: { singular } }) as unknown as Definition]
      const kept = await keepDefinitions({
        client,
        wanted: [],
        standIns,
        fieldManager: 'mooring',
        clock,
        random: () => 0,
        log,
      })
      await kept.stop()
      return kept.problems()
    },
  }
}

test('a definition that is deleted is told of with what holds it, and installed again when it is gone', async () => {
  const { world, lines, keep } = await aServer()
  const kept = await keep()
  expect(kept.problems()).toEqual([])
  ok(await world.admin.create(widgets(), aWidget('held', {}, { finalizers: [hold] })))
  ok(await world.admin.delete(`${definitions}/${name}`))
  await world.settled()
  await world.pass(2_000)
  expect(kept.problems()).toEqual([
    `${name} is being deleted (CustomResource deletion is in progress: 1 instance remains, held by ${hold}): it is installed again when it is gone`,
  ])
  expect(lines.filter(line => line.includes(hold))).toHaveLength(1)
  ok(await world.admin.patch(`${widgets()}/held`, { metadata: { finalizers: null } }))
  await world.pass(5_000)
  expect(kept.problems()).toEqual([])
  expect(lines.at(-1)).toContain(`a definition was deleted and is installed again definition=${name}`)
  ok(await world.admin.create(widgets(), aWidget('new')))
  await kept.stop()
})

test('a definition that is being deleted at the start is a problem until it is installed again', async () => {
  const { world, keep } = await aServer()
  const before = await keep()
  await before.stop()
  ok(await world.admin.create(widgets(), aWidget('held', {}, { finalizers: [hold] })))
  ok(await world.admin.delete(`${definitions}/${name}`))
  await world.settled()
  const kept = await keep()
  expect(kept.problems()).toHaveLength(1)
  let isComplete = false
  void kept.complete().then(() => {
    isComplete = true
  })
  await world.pass(60_000)
  expect(isComplete).toBe(false)
  ok(await world.admin.patch(`${widgets()}/held`, { metadata: { finalizers: null } }))
  await world.pass(10_000)
  expect(isComplete).toBe(true)
  ok(await world.admin.create(widgets(), aWidget('new')))
  await kept.stop()
})

test("a stand-in is brought where there is none and kept up to date, and another product's own is never overwritten", async () => {
  const { world, standIn } = await aServer()
  const path = `${definitions}/${name}`
  const singular = async () => (ok(await world.admin.get(path)) as unknown as Named).spec.names.singular
  await standIn('old')
  await standIn('new')
  expect(await singular()).toBe('new')
  ok(await world.admin.patch(path, { spec: { names: { singular: 'theirs' } } }))
  await standIn('newer')
  expect(await singular()).toBe('theirs')
  ok(await world.admin.delete(path))
  await world.settled()
  ok(await world.admin.create(definitions, aWidgetDefinition({ names: { singular: 'theirs' } })))
  await world.settled()
  expect(await standIn('newer')).toEqual([])
  expect(await singular()).toBe('theirs')
})

interface Named {
  readonly spec: { readonly names: { readonly singular: string } }
}
