// `mooring import plan`, on files and on the API server of the product.

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { exitCodes, Failure } from '../../src/cli/failure.ts'
import { type ImportPlanOptions, planWith } from '../../src/cli/import.ts'
import { pods } from '../../src/controllers/vm/kinds.ts'
import type { Finding } from '../../src/imports/finding.ts'
import { readTarget } from '../../src/imports/read-target.ts'
import { noTarget } from '../../src/imports/target.ts'
import { ApiError } from '../../src/kube/api-error.ts'
import type { Client } from '../../src/kube/client.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import {
  aClaim,
  aClusterUDN,
  aNamespace,
  aPod,
  aServer,
  aVM,
  aVMI,
  forPrimary,
  kubeVirts,
  type Server,
  type Thing,
} from './server.ts'

const header =
  'VM;Powerstate;Template;SRM Placeholder;NIC label;Network;Starts Connected;Mac Address;IPv4 Address;VM ID'
const row = (name: string, mac: string, ip: string, id = `vm-${name}`) =>
  `${name};poweredOn;False;False;card 1;VM Network;True;${mac};${ip};${id}`

async function aDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'mooring-import-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  return directory
}

async function aFile(...rows: readonly string[]): Promise<string> {
  const name = join(await aDirectory(), 'RVTools_tabvNetwork.csv')
  await writeFile(name, [header, ...rows].join('\r\n'))
  return name
}

const twoMachines = () => aFile(row('web', '00:50:56:00:00:05', '10.0.0.5'), row('db', '00:50:56:00:00:06', '10.0.0.6'))

interface Answer {
  readonly code: number
  readonly text: string
  readonly findings: readonly Finding[]
  readonly objects: readonly Thing[]
}

async function plan(
  client: Client | undefined,
  files: readonly string[],
  more: Partial<ImportPlanOptions> = {},
): Promise<Answer> {
  let text = ''
  const options: ImportPlanOptions = {
    namespace: 'shop',
    map: ['VM Network=cudn:blue'],
    subnet: ['VM Network=10.0.0.0/24,10.0.0.254'],
    output: 'json',
    defaultNetworkNamespace: 'ovn-kubernetes',
    ...more,
  }
  const code = await planWith({ client, namespace: options.namespace }, files, options, line => {
    text += line
  })
  const { findings = [], objects = [] } = options.output === 'json' ? JSON.parse(text) : {}
  return { code, text, findings, objects }
}

const failure = (answer: Promise<unknown>): Promise<Failure> =>
  answer.then(
    () => Promise.reject(new Error('it was not refused')),
    error => (error instanceof Failure ? error : Promise.reject(error)),
  )

/** The namespace shop, with the primary network blue. */
async function aCluster(): Promise<Server> {
  const server = await aServer()
  await server.put(aNamespace('shop', forPrimary))
  await server.put(aNamespace('lab'))
  await server.put(aClusterUDN('blue', 'shop'))
  return server
}

const messages = ({ findings }: Answer, id: string) => findings.filter(one => one.id === id).map(one => one.message)

describe('A plan on files alone', () => {
  test('says so, shows each card, and ends with 0', async () => {
    const { code, text } = await plan(undefined, [await twoMachines()], { output: 'table' })
    expect(code).toBe(0)
    expect(text).toContain('web      web  card 1  net-0      cudn:blue  00:50:56:00:00:05  10.0.0.5')
    expect(text).toContain('2 machines, 0 errors, 0 warnings')
    expect(text).toContain('nothing was compared with a cluster')
  })

  test('B72: prints the same objects, byte for byte, and writes them in the order in which they are made', async () => {
    const file = await twoMachines()
    const out = await aDirectory()
    const one = await plan(undefined, [file], { output: 'yaml' })
    const other = await plan(undefined, [file], { output: 'yaml', out })
    expect(other.text).toBe(one.text)
    const names = (await readdir(out)).toSorted()
    expect(names).toEqual([
      '1-namespace-shop.yaml',
      '2-network-blue.yaml',
      '3-ippool-blue.yaml',
      '4-vm-db.yaml',
      '4-vm-web.yaml',
    ])
    const written = await Promise.all(names.map(name => readFile(join(out, name), 'utf8')))
    expect(new Set(written)).toEqual(new Set(one.text.split('---\n').map(text => text.replace(/\n?$/, '\n'))))
  })

  test('B63: a MAC of digits alone is a text, also to readers of YAML 1.1', async () => {
    const file = await aFile(row('web', '10-20-30-40-50-59', '10.0.0.5'))
    const { text } = await plan(undefined, [file], { output: 'yaml' })
    const [, , pool] = parseAllDocuments(text, { version: '1.1' }).map(document => document.toJS())
    expect(pool.spec.entries).toEqual({ '10:20:30:40:50:59': ['10.0.0.5/24'] })
  })

  test('with an error ends with 5 and makes nothing: what would be piped into kubectl has comments alone', async () => {
    const file = await aFile(row('web', '00:50:56:00:00:05', '10.0.0.5'), row('db', '00-50-56-00-00-05', '10.0.0.6'))
    const out = await aDirectory()
    const { code, text } = await plan(undefined, [file], { output: 'yaml', out })
    expect(code).toBe(exitCodes.refused)
    expect(text.split('\n').filter(line => !line.startsWith('# '))).toEqual([])
    expect(text).toContain('MacDuplicateInBatch')
    expect(await readdir(out)).toEqual([])
  })

  test('shows a name with a line end in it as what it is: it cannot become an object', async () => {
    const evil = '"x\nkind: ClusterRoleBinding"'
    const file = await aFile(
      row(evil, '00:50:56:00:00:05', '10.0.0.5', 'vm-1'),
      row('db', '00:50:56:00:00:05', '10.0.0.6'),
    )
    for (const output of ['yaml', 'table']) {
      const { text } = await plan(undefined, [file], { output })
      expect(text).toContain('kind: ClusterRoleBinding')
      expect(text).not.toMatch(/^kind: ClusterRoleBinding/m)
    }
  })

  test('names every fault of a file, and ends with 4', async () => {
    const refused = await failure(plan(undefined, [await aFile(row('web', 'not-a-mac', '10.0.0.5'))]))
    expect(refused.exitCode).toBe(exitCodes.data)
  })

  test.each<[string, Partial<ImportPlanOptions>, string]>([
    ['without --map', { map: [] }, 'needs --map'],
    ['with a target that is none', { map: ['VM Network=nothing'] }, 'is no target'],
    ['with a part that is none', { without: ['x'] }, '--without does not know "x"'],
    ['with a kind of file that is none', { from: 'x' }, '--from does not know "x"'],
    ['with an output that is none', { output: 'x' }, '--output does not know "x"'],
    ['offline, and on a cluster', { offline: true, context: 'x' }, '--offline does not go together'],
  ])('is refused %s, with 2', async (_, options, what) => {
    const refused = await failure(plan(undefined, [await twoMachines()], options))
    expect(refused.exitCode).toBe(exitCodes.usage)
    expect(refused.message).toContain(what)
  })

  test('is refused for a file that is not there, or that its name does not tell', async () => {
    expect((await failure(plan(undefined, ['/nowhere/x.csv']))).exitCode).toBe(exitCodes.environment)
    expect((await failure(plan(undefined, ['machines.json']))).advice).toContain('--from')
  })
})

describe('A plan for a cluster', () => {
  test('makes what is missing, and the API server takes it; planned again, a machine is no conflict with itself (B44)', async () => {
    const { client, put } = await aServer()
    const first = await plan(client, [await twoMachines()])
    expect(first.findings.map(({ id }) => id)).toEqual(['CudnProposed'])
    expect(first.objects.map(({ kind }) => kind)).toEqual([
      'Namespace',
      'ClusterUserDefinedNetwork',
      'IPPool',
      'VirtualMachine',
      'VirtualMachine',
    ])
    for (const object of first.objects) await put(object)
    const again = await plan(client, [await twoMachines()])
    expect(again.findings.map(({ id }) => id)).toEqual(['AlreadyImported', 'AlreadyImported'])
    expect(again.objects).toEqual(first.objects.slice(2, 3))
  })

  test('B43: names the VirtualMachine, the instance or the pod that has the MAC', async () => {
    const { client, put } = await aCluster()
    await put(aVM('lab', 'old', { mac: '00-50-56-00-00-05' }))
    await put(aVMI('lab', 'lone', { mac: '00:50:56:00:00:06' }))
    await put(aPod('lab', 'box', { 'lab/net': { mac_address: '00:50:56:00:00:06', ip_addresses: ['10.0.0.9/24'] } }))
    const answer = await plan(client, [await twoMachines()])
    expect(answer.code).toBe(exitCodes.refused)
    expect(messages(answer, 'MacConflictTarget')).toEqual([
      'the MAC 00:50:56:00:00:06 is that of Pod lab/box',
      'the MAC 00:50:56:00:00:06 is that of VirtualMachineInstance lab/lone',
      'the MAC 00:50:56:00:00:05 is that of VirtualMachine lab/old',
    ])
    const consented = await plan(client, [await twoMachines()], { sourceWillBeOff: true })
    expect(consented.code).toBe(0)
    expect(messages(consented, 'MacConflictTarget')).toHaveLength(3)
  })

  test('B46: names the claim of a stopped machine that has the address', async () => {
    const { client, put } = await aCluster()
    await put(aClaim('shop', 'old.net-0', 'old', { ips: ['10.0.0.5/24'] }))
    const answer = await plan(client, [await twoMachines()])
    expect(messages(answer, 'IpConflictTarget')).toEqual(['10.0.0.5 is that of IPAMClaim shop/old.net-0'])
  })

  test('B50: compares the gateway that the administrator says with that of the network', async () => {
    const { client } = await aCluster()
    const answer = await plan(client, [await twoMachines()], { subnet: ['VM Network=10.0.0.0/24,10.0.0.1'] })
    expect(messages(answer, 'GatewayMismatch')[0]).toBe(
      'the gateway of the machine is 10.0.0.1, and that of blue 10.0.0.254',
    )
  })

  test('B56: a namespace that is there without the label is refused', async () => {
    const { client, put } = await aServer()
    await put(aNamespace('shop'))
    const answer = await plan(client, [await twoMachines()])
    expect(answer.findings.filter(({ severity }) => severity === 'error').map(({ id }) => id)).toEqual([
      'NamespaceLabelMissing',
    ])
  })

  test.each<[string, object]>([
    ['CudnNotPersistent', { ipam: { mode: 'Enabled' } }],
    ['CudnNotPrimary', { role: 'Secondary', defaultGatewayIPs: undefined }],
  ])('reads the network as it is: %s', async (id, layer2) => {
    const { client, put } = await aServer()
    await put(aNamespace('shop', forPrimary))
    await put(JSON.parse(JSON.stringify(aClusterUDN('blue', 'shop', layer2))))
    const { findings } = await plan(client, [await twoMachines()])
    expect(findings.map(one => one.id)).toContain(id)
  })

  test('sees whether KubeVirt knows l2bridge', async () => {
    const { client, put } = await aCluster()
    const kubeVirt = {
      apiVersion: 'kubevirt.io/v1',
      kind: 'KubeVirt',
      metadata: { name: 'kubevirt', namespace: 'lab' },
    }
    await put({ ...kubeVirt, spec: {} })
    expect(messages(await plan(client, [await twoMachines()]), 'L2BridgeBindingMissing')).toHaveLength(1)
    const binding = { l2bridge: { domainAttachmentType: 'managedTap', migration: {} } }
    await client.mergePatch(
      kubeVirts,
      { namespace: 'lab', name: 'kubevirt' },
      { spec: { configuration: { network: { binding } } } },
    )
    expect(messages(await plan(client, [await twoMachines()]), 'L2BridgeBindingMissing')).toEqual([])
  })

  test('says what its user may not read', async () => {
    const { client } = await aCluster()
    const list: Client['list'] = (kind, options) =>
      (kind as object) === pods
        ? Promise.reject(new ApiError('no', { reason: 'Forbidden', code: 403 }))
        : client.list(kind, options)
    const answer = await plan({ list, get: client.get.bind(client) } as Client, [await twoMachines()])
    expect(messages(answer, 'TargetNotRead')).toEqual(['pods cannot be listed: conflicts with them are not found'])
    expect(answer.code).toBe(0)
  })

  test('knows networks beside the primary one that give out addresses', async () => {
    const { client, put } = await aCluster()
    const config = { cniVersion: '1.0.0', type: 'ovn-k8s-cni-overlay', name: 'storage', topology: 'layer2' }
    const more = { subnets: '10.9.0.0/24', allowPersistentIPs: true, netAttachDefName: 'shop/storage' }
    const attachment: KubeObject & { spec: object } = {
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { name: 'storage', namespace: 'shop' },
      spec: { config: JSON.stringify({ ...config, ...more }) },
    }
    await put(attachment as unknown as Thing)
    const { attachments } = await readTarget(client, noTarget.parts)
    expect(attachments.get('shop/storage')).toMatchObject({ networkName: 'storage', subnets: [{ bits: 24 }] })
  })
})
