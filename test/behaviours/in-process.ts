// A world without sockets and without waiting: the API server of the product on a store in memory, the desk beside it, and
// one clock for both that moves when the test says so.

import { onTestFinished } from 'vitest'
import { createClient } from '../../src/kube/client.ts'
import { createDiscovery } from '../../src/kube/discovery.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { VirtualClock } from '../../src/runtime/virtual-clock.ts'
import type { MemoryDisk } from '../../src/store/memory.ts'
import { ok } from '../harness/client.ts'
import { kubeWire } from '../harness/kube-wire.ts'
import { aWorld as aServer, certificates, type World as Server, toDER } from '../harness/world.ts'
import { definitions } from './definitions.ts'
import { aDesk } from './desk.ts'
import type { Ground, WorldOptions } from './world.ts'

const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

export async function anInProcessWorld({ define }: WorldOptions): Promise<Ground> {
  const server = define === undefined ? await aServer({ disk: await withKinds() }) : await aServer()
  if (define !== undefined) await install(server, define(definitions))
  const clock = new VirtualClock()
  const peerCertificate = toDER(certificates().admin().certificate)
  const wire = kubeWire({ handler: () => server.server.handler, peerCertificate })
  const discovery = createDiscovery({ wire, clock, name: 'tester', absentMs: 0 })
  const client = createClient({ wire, clock, versionOf: discovery.versionOf, name: 'tester' })
  const desk = aDesk(wire, clock)
  await desk.start()
  onTestFinished(() => desk.kill())
  return {
    client,
    clock,
    desk,
    home: 'default',
    async pass(milliseconds) {
      // The server's clock first: what the desk then writes is never older than what made it write.
      for (let leftMs = milliseconds; leftMs > 0; leftMs -= stepMs) {
        await server.pass(Math.min(stepMs, leftMs))
        await clock.advance(Math.min(stepMs, leftMs))
      }
      await server.pass(0)
    },
  }
}

/** Short beside anything that a behaviour measures. */
const stepMs = 250

let diskWithKinds: Promise<MemoryDisk> | undefined

/** The kinds take a hundred writes: they are made once and copied. */
async function withKinds(): Promise<MemoryDisk> {
  diskWithKinds ??= aServer().then(async server => {
    await install(server, definitions)
    return server.disk
  })
  const { meta, rows } = await diskWithKinds
  return { meta, rows: new Map(rows) }
}

async function install(server: Server, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) ok(await server.admin.create(definitionsPath, object))
  await server.settled()
}
