// A world on a server that runs by itself, found by its kubeconfig: a real cluster, or `mooring up`. The desk is in this
// process; every test has namespaces of its own, and time passes as it does. A test that needs other kinds than the rest
// gets a server of its own.

import { inject, onTestFinished } from 'vitest'
import { type Connected, connect } from '../../scripts/real/connect.ts'
import { isApiError } from '../../src/kube/api-error.ts'
import type { Client } from '../../src/kube/client.ts'
import { defineKind } from '../../src/kube/object.ts'
import { speak } from '../../src/kube/speak.ts'
import type { Wire } from '../../src/kube/wire.ts'
import { pause } from '../../src/runtime/clock.ts'
import { definitions } from './definitions.ts'
import { aDesk, type DesksUnderTest, type DeskUnderTest } from './desk.ts'
import { kindOf } from './kinds.ts'
import { describeLastLook } from './last-look.ts'
import { startServer } from './server.ts'
import { askWebhooks, endWebhooks } from './webhooks-on-a-server.ts'
import type { Ground, WorldOptions } from './world.ts'

/** Undefined: everything in this process. */
export function serverByEnvironment(): 'embedded' | 'cluster' | undefined {
  const name = process.env.MOORING_BEHAVIOURS_SERVER
  return name === 'embedded' || name === 'cluster' ? name : undefined
}

/** That of this worker. */
let connected: Connected | undefined

function shared(): Connected {
  const { kubeconfigs } = inject('behaviours')
  connected ??= connect(kubeconfigs[Number(process.env.VITEST_POOL_ID) - 1] ?? '')
  return connected
}

function connectUntilFinished(kubeconfig: string): Connected {
  const connected = connect(kubeconfig)
  onTestFinished(connected.close)
  return connected
}

const serviceAccounts = defineKind({
  kind: 'ServiceAccount',
  group: '',
  versions: ['v1'],
  plural: 'serviceaccounts',
  namespaced: true,
})

const run = Math.random().toString(36).slice(2, 7)
let count = 0

export async function aServerWorld(options: WorldOptions): Promise<Ground> {
  const { define, hasWebhooks = false } = options
  const own = define && (await startServer(define(definitions), { withControllers: false }))
  if (own !== undefined) onTestFinished(() => own.stop())
  const { client, wire, clock } = own === undefined ? shared() : connectUntilFinished(own.kubeconfig)
  const home = `behaviour-${run}-${++count}`
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } }
  await client.create(kindOf(namespace), namespace)
  if (own !== undefined) await makeServiceAccount(client, home)
  if (own === undefined && !hasWebhooks) await endWebhooks(client, home)
  const desks: DeskUnderTest[] = []
  const start = async (which: DesksUnderTest = options) => {
    const desk = aDesk(which.user === undefined ? wire : actingAs(which.user, wire), clock, home, which)
    await desk.start()
    desks.push(desk)
    onTestFinished(() => desk.stop())
    return desk
  }
  const desk = await start()
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') await describeLastLook(client, home, desks)
  })
  if (hasWebhooks) await askWebhooks(client, home, desk.webhookSets())
  return {
    client,
    clientOf: user => speak({ wire: actingAs(user, wire), clock, name: 'tester', absentMs: 0 }).client,
    clock,
    desk,
    anotherDesk: start,
    home,
    pass: milliseconds => pause(clock, Math.max(20, milliseconds)),
  }
}

/** Without one no pod is let in, and a server of its own has no controller that makes it. */
async function makeServiceAccount(client: Client, namespace: string): Promise<void> {
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } }
  try {
    await client.create(serviceAccounts, account)
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
  }
}

const actingAs =
  (user: string, wire: Wire): Wire =>
  request =>
    wire({ ...request, headers: { ...request.headers, 'impersonate-user': user } })
