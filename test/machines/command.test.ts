// `mooring vsphere preflight` and `mooring vsphere audit` on the API server of the product, in one process. Nothing else runs there.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { standInsOf } from '../../src/cli/definitions.ts'
import { exitCodes, Failure } from '../../src/cli/failure.ts'
import { auditWith, type FleetTools, preflightWith } from '../../src/cli/vsphere-machines.ts'
import { ApiError } from '../../src/kube/api-error.ts'
import type { Client } from '../../src/kube/client.ts'
import { defineKind, type KubeObject, nameOfKind, refOf } from '../../src/kube/object.ts'
import { speak } from '../../src/kube/speak.ts'
import { ok } from '../harness/client.ts'
import { kubeWire } from '../harness/kube-wire.ts'
import type { MemoryDisk } from '../harness/memory-store.ts'
import { VirtualClock } from '../harness/virtual-clock.ts'
import { aWorld, certificates, toDER } from '../harness/world.ts'
import {
  aClaim,
  aControlPlane,
  aHold,
  aMachineSet,
  aNamespace,
  anAddress,
  aPool,
  aRunning,
  fromLab,
  namespace,
  type Thing,
} from './builders.ts'

const things = [
  aNamespace(),
  aPool('lab', '10.0.0.1-10.0.0.7'),
  aMachineSet('workers-0', 2, ...fromLab),
  aControlPlane(3, {}, ...fromLab),
  ...aRunning('workers-0-1', 'workers-0', '10.0.0.1'),
  ...aRunning('workers-0-2', 'workers-0', '10.0.0.2'),
  aHold('10.0.0.7', 'gone', { until: '2026-01-02T14:05:00Z' }),
]

const uids = new Map<string, string>()

let diskWithThings: Promise<MemoryDisk> | undefined

/** The kinds are installed, and the things made, once for all tests. */
async function aServer(): Promise<Client> {
  diskWithThings ??= aWorld().then(async world => {
    for (const definition of standInsOf([{ standIns: ['crd/', 'crd/cluster-api/', 'crd/machine/'] }])) {
      ok(await world.admin.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition))
    }
    await world.settled()
    const client = clientOf(world)
    for (const thing of things) await put(client, thing)
    return world.disk
  })
  const { meta, rows } = await diskWithThings
  return clientOf(await aWorld({ disk: { meta, rows: new Map(rows) } }))
}

function clientOf({ server }: Awaited<ReturnType<typeof aWorld>>): Client {
  const wire = kubeWire({ handler: () => server.handler, peerCertificate: toDER(certificates().admin().certificate) })
  return speak({ wire, clock: new VirtualClock(), name: 'tester', absentMs: 0 }).client
}

/** The server gives out uids: what names an object that was made before names it by its uid. */
async function put(client: Client, thing: Thing): Promise<void> {
  const text = JSON.stringify(thing)
  const known = [...uids].reduce((now, [fake, real]) => now.replaceAll(`"uid":"${fake}"`, `"uid":"${real}"`), text)
  const object: Thing = JSON.parse(known)
  const [group = '', version = ''] = object.apiVersion.includes('/')
    ? object.apiVersion.split('/')
    : ['', object.apiVersion]
  const plural = `${object.kind.toLowerCase()}${object.kind.endsWith('s') ? 'es' : 's'}`
  const isNamespaced = object.metadata.namespace !== undefined
  const kind = defineKind<KubeObject>({
    group,
    versions: [version],
    plural,
    kind: object.kind,
    namespaced: isNamespaced,
  })
  const { uid: fake = '', ...metadata } = object.metadata
  const made = await client.create(kind, { ...object, metadata })
  uids.set(fake, made.metadata.uid ?? '')
  if (object.status !== undefined && object.kind !== 'Hold')
    await client.mergePatch(kind, refOf(object), { status: object.status }, { subresource: 'status' })
}

const tools = async (): Promise<FleetTools & { readonly client: Client }> => ({
  client: await aServer(),
  namespace,
  nowMs: Date.parse('2026-01-02T12:00:00Z'),
})
const options = { namespace, output: 'table', scale: [], rollOut: [] }

type Command = (print: (text: string) => void) => Promise<number>

async function run(command: Command): Promise<{ readonly code: number; readonly text: string }> {
  let text = ''
  const code = await command(line => {
    text += line
  })
  return { code, text }
}

const failure = (answer: Promise<unknown>): Promise<Failure> =>
  answer.then(
    () => Promise.reject(new Error('it was not refused')),
    error => (error instanceof Failure ? error : Promise.reject(error)),
  )

describe('mooring vsphere preflight', () => {
  test('says where a set stalls that is to grow, and when more comes free, and ends with 5', async () => {
    const { code, text } = await run(async print =>
      preflightWith(await tools(), { ...options, scale: ['workers-0=8'] }, print),
    )
    expect(code).toBe(exitCodes.refused)
    expect(text).toContain(
      `scaling MachineSet workers-0 from 2 to 8 needs 6 addresses of AddressPool ${namespace}/lab; 4 are free, which ControlPlaneMachineSet cluster takes from too: it stalls at machine 3 of 6 (workers-0 #5); 1 more comes free when its quarantine ends at 2026-01-02T14:05:00Z`,
    )
    expect(text).toContain('There are not enough addresses')
  })

  test('judges what the sets ask for now, and ends with 0 where that is there', async () => {
    const { code, text } = await run(async print => preflightWith(await tools(), options, print))
    expect(text.split('\n')[1]).toMatch(/^ControlPlaneMachineSet cluster {2}0 to 3 .* 3 {6}4 {5}enough$/)
    expect(text).toContain('There are enough addresses.')
    expect(code).toBe(0)
  })

  test('has it all as JSON', async () => {
    const asked = { ...options, output: 'json', rollOut: ['workers-0'] }
    const { code, text } = await run(async print => preflightWith(await tools(), asked, print))
    expect(JSON.parse(text)).toMatchObject({
      namespace,
      isEnough: true,
      waiting: [],
      orders: [
        { what: 'scale', set: 'ControlPlaneMachineSet cluster', verdict: 'enough' },
        { what: 'rollOut', set: 'MachineSet workers-0', verdict: 'enough', pools: [{ needs: 1, needsAtLeast: 0 }] },
      ],
    })
    expect(code).toBe(0)
  })

  test.each<[string, object, string]>([
    ['with a scale that is none', { scale: ['workers-0'] }, '--scale is "workers-0", which is not SET=N'],
    ['with a number that is none', { scale: ['workers-0=-1'] }, 'which is not SET=N'],
    ['with more Machines than are played through', { scale: ['workers-0=10001'] }, 'N of 10000 at most'],
    ['with one set twice', { scale: ['a=1', 'a=2'] }, '--scale names "a" twice'],
    ['with a set that is not there', { rollOut: ['x'] }, `namespace ${namespace} has no set of Machines called "x"`],
    ['with an output that is none', { output: 'xml' }, '--output does not know "xml"'],
  ])('is refused %s, with 2', async (_, more, what) => {
    const refused = await failure(preflightWith(await tools(), { ...options, ...more }, () => {}))
    expect(refused.exitCode).toBe(exitCodes.usage)
    expect(refused.message).toContain(what)
  })

  test('is refused with 3 where its user may not list the holds: an answer without them would be wrong', async () => {
    const all = await tools()
    const list: Client['list'] = (kind, how) =>
      nameOfKind(kind).startsWith('holds')
        ? Promise.reject(new ApiError('no', { reason: 'Forbidden', code: 403 }))
        : all.client.list(kind, how)
    const refused = await failure(preflightWith({ ...all, client: { list } }, options, () => {}))
    expect(refused.exitCode).toBe(exitCodes.environment)
    expect(refused.advice).toContain('may list')
  })
})

test('The role in the guide allows what both commands list, and nothing else', async () => {
  const { client } = await tools()
  const listed = new Set<string>()
  const list: Client['list'] = (kind, how) => {
    listed.add(`list ${kind.group}/${kind.plural}`)
    return client.list(kind, how)
  }
  await run(async print => auditWith({ ...(await tools()), client: { list } }, options, print))
  const page = readFileSync(new URL('../../docs/how-to/check-before-scaling.md', import.meta.url), 'utf8')
  const text = page.split('```').find(part => part.startsWith('yaml')) ?? ''
  const { rules } = parse(text.slice('yaml'.length)) as {
    rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[]
  }
  const allowed = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap(group => resources.flatMap(plural => verbs.map(verb => `${verb} ${group}/${plural}`))),
  )
  expect(allowed.toSorted()).toEqual([...listed].toSorted())
})

describe('mooring vsphere audit', () => {
  test('prints what a tenant wrote as what it is: no command reaches the terminal', async () => {
    const on = await tools()
    await put(on.client, anAddress('evil', '10.0.0.6\u001b[2J\n', 'gone'))
    const { text } = await run(print => auditWith(on, options, print))
    expect(text).toContain('AddressWithoutClaim')
    expect(text).not.toContain('\u001b')
    expect(text.split('\n')).toHaveLength(4)
  })

  test('ends with 0 where everything fits together, and then with 5, with each finding and what to do', async () => {
    const on = await tools()
    const clean = await run(print => auditWith(on, options, print))
    expect(clean).toEqual({ code: 0, text: '2 Machines, 0 errors, 0 warnings' })
    await put(on.client, anAddress('left', '10.0.0.6', 'gone'))
    await put(on.client, aClaim('workers-0-9-claim-0-0', { finalizers: [] }))
    const { code, text } = await run(print => auditWith(on, options, print))
    expect(code).toBe(exitCodes.refused)
    expect(text).toContain('2 Machines, 0 errors, 2 warnings')
    expect(text).toMatch(
      /^warn {6}AddressWithoutClaim {2}IPAddress .*\/left .*if no machine uses 10\.0\.0\.6, delete it/m,
    )
    const json = await run(print => auditWith(on, { ...options, output: 'json' }, print))
    expect(JSON.parse(json.text)).toMatchObject({
      errors: 0,
      warnings: 2,
      findings: [{ id: 'AddressWithoutClaim' }, { id: 'ClaimWithoutMachine', severity: 'warn' }],
    })
  })
})
