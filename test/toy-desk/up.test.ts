// `mooring up` with one desk more in its table, switched on and off.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Connected, connect } from '../../src/cli/connect.ts'
import { type Running, up } from '../../src/cli/up.ts'
import { mutatingConfigurations, validatingConfigurations } from '../../src/cli/webhook-configurations.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { readyOf } from '../behaviours/promises.ts'
import { aBerth, aNetwork } from './builders.ts'
import { desksWithConverter, desksWithToy } from './desks.ts'
import { berths, networks } from './kinds.ts'
import { toyWebhooks } from './webhooks.ts'

async function start(data: string, on: string, desks = desksWithToy): Promise<Running & Connected> {
  const options = { data, listen: '127.0.0.1:0', dashboard: '127.0.0.1:0', desks: on, playground: 'none' }
  const running = await up({ ...options, history: '300', logLevel: 'error' }, () => {}, undefined, desks)
  onTestFinished(() => running.stop())
  const connected = connect({ kubeconfig: running.kubeconfig }, 'tester')
  onTestFinished(() => connected.close())
  return { ...connected, ...running }
}

async function registered({ client }: Connected): Promise<string[]> {
  const configurations = [validatingConfigurations, mutatingConfigurations].map(kind => client.list(kind))
  const webhooks = (await Promise.all(configurations)).flatMap(({ items }) =>
    items.flatMap(item => (item as KubeObject & { webhooks: { name: string }[] }).webhooks),
  )
  return webhooks.map(({ name }) => name)
}

function aDirectory(): string {
  const data = join(mkdtempSync(join(tmpdir(), 'mooring-toy-')), 'data')
  onTestFinished(() => rmSync(join(data, '..'), { recursive: true, force: true }))
  return data
}

test('`mooring up` runs a desk of the table that it is given, and one that is switched off leaves no webhook behind', async () => {
  const data = aDirectory()
  const names = toyWebhooks.map(({ name }) => name)
  const on = await start(data, 'capi,toy')
  expect(await registered(on)).toEqual(expect.arrayContaining(names))
  const network = aNetwork({ isDefault: true })
  await on.client.create(networks, network)
  const draft = (name: string, of?: KubeObject) => ({ ...aBerth(of), metadata: { name, namespace: 'default' } })
  // Its network is filled in by a webhook.
  await on.client.create(berths, draft('early'))
  const statusOf = async (of: Connected, name: string) =>
    readyOf(await of.client.get(berths, { namespace: 'default', name }))?.status
  await expect.poll(() => statusOf(on, 'early'), { timeout: 20_000 }).toBe('True')
  await on.stop()

  const off = await start(data, 'capi')
  expect((await registered(off)).filter(name => names.includes(name))).toEqual([])
  await off.client.create(berths, draft('late', network))
  expect(await (await fetch(`${off.dashboard}/readyz`)).text()).toBe('ok')
  expect((await fetch(`${off.dashboard}/readyz/toy`)).status).toBe(404)
  expect(await statusOf(off, 'late')).toBeUndefined()
})

test('kinds of a desk that is switched off are converted still, by a process whose port is another one', async () => {
  const data = aDirectory()
  const on = await start(data, 'capi,toy', desksWithConverter)
  const network = await on.client.create(networks, aNetwork({ subnets: ['10.7.0.0/24'] }))
  await on.stop()
  const off = await start(data, 'capi', desksWithConverter)
  const path = `/apis/toy.example.org/v0/toynetworks/${network.metadata.name}`
  const headers = { accept: 'application/json' }
  const { body } = await off.wire({ method: 'GET', path, headers, signal: AbortSignal.timeout(30_000) })
  expect(JSON.parse(String(body))).toMatchObject({ spec: { nets: ['10.7.0.0/24'] } })
})
