// Desks beside the embedded API server, in the same process: their kinds are installed, then they are started as in any
// cluster, only that their requests take no socket.

import { X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { parseAllDocuments } from 'yaml'
import type { Handler } from '../apiserver/edge/handler.ts'
import { addCapiDesk } from '../controllers/capi/desk.ts'
import { createClient } from '../kube/client.ts'
import { createDiscovery } from '../kube/discovery.ts'
import { createRecorder } from '../kube/events.ts'
import { defineKind, type KubeObject } from '../kube/object.ts'
import { realClock } from '../runtime/clock.ts'
import { Manager } from '../runtime/manager.ts'
import type { Log } from '../telemetry/log.ts'
import { embeddedWire } from './embedded-wire.ts'

export interface Desks {
  stop(): Promise<void>
}

export interface DesksOptions {
  readonly handler: Handler
  /** The administrator's certificate, as PEM: desks act with its rights. */
  readonly certificate: string
  readonly log: Log
}

export async function startDesks({ handler, certificate, log }: DesksOptions): Promise<Desks> {
  const wire = embeddedWire({ handler: () => handler, peerCertificate: new X509Certificate(certificate).raw })
  const clock = realClock
  const random = Math.random
  const name = 'mooring'
  const discovery = createDiscovery({ wire, clock, name })
  const client = createClient({ wire, clock, name, versionOf: (kind, signal) => discovery.versionOf(kind, signal) })
  await installKinds(client)
  const recorder = createRecorder({ client, clock, random, log, controller: 'mooring.dev/capi', instance: hostname() })
  const manager = new Manager({ clock, random, log })
  addCapiDesk({ client, discovery, clock, random, log, recorder, manager })
  await manager.start()
  return {
    async stop() {
      await manager.stop('shutdown')
      await recorder.stop()
    },
  }
}

const definitions = defineKind<KubeObject>({
  group: 'apiextensions.k8s.io',
  versions: ['v1'],
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
})

/** Definitions are applied, so that a newer Mooring brings its newer kinds to older data. */
async function installKinds(client: ReturnType<typeof createClient>): Promise<void> {
  for (const definition of readDefinitions()) {
    const ref = { name: definition.metadata.name ?? '' }
    await client.apply(definitions, ref, definition, { fieldManager: 'mooring', isForced: true })
  }
  for (const { metadata } of readDefinitions()) await established(client, metadata.name ?? '')
}

/** The API server accepts names and serves a kind within a turn or two; a desk that starts before would look in vain. */
async function established(client: ReturnType<typeof createClient>, name: string): Promise<void> {
  for (;;) {
    const definition = (await client.get(definitions, { name })) as Definition | undefined
    const conditions = definition?.status?.conditions ?? []
    if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return
    if (conditions.some(({ type, status }) => type === 'NamesAccepted' && status === 'False')) {
      throw new Error(`the names of ${name} are taken by another kind`)
    }
    await new Promise(resolve => setImmediate(resolve))
  }
}

interface Definition extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null }
}

/** Those of `config/crd` and, since no Cluster API is installed here, those of Cluster API that a desk needs. */
function readDefinitions(): KubeObject[] {
  const folders = ['../../config/crd/', '../../config/crd/cluster-api/'].map(path => new URL(path, import.meta.url))
  return folders.flatMap(folder =>
    readdirSync(folder)
      .filter(file => file.endsWith('.yaml'))
      .flatMap(file => parseAllDocuments(readFileSync(new URL(file, folder), 'utf8')))
      .map(document => document.toJS() as KubeObject),
  )
}
