// `mooring vsphere`: what it prints, what it writes, and how it ends.

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { toHoldObject } from '../../src/api/hold.ts'
import { exitCodes, Failure } from '../../src/cli/failure.ts'
import {
  kargs,
  type ManifestsOptions,
  manifests,
  type ValidateOptions,
  validate,
  validateWith,
} from '../../src/cli/vsphere.ts'
import { holds } from '../../src/controllers/office/kinds.ts'
import { parseIP } from '../../src/ip/address.ts'
import { aDevice, installConfig, threeAndThree } from '../harness/install-config.ts'
import { orThrow } from '../harness/or-throw.ts'
import { aServer } from '../imports/server.ts'

async function aDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'mooring-vsphere-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  return directory
}

async function aFile(text: string): Promise<string> {
  const name = join(await aDirectory(), 'install-config.yaml')
  await writeFile(name, text)
  return name
}

const usual = { output: 'table', strict: false } satisfies ValidateOptions
const usualManifests = { ...usual, infraId: 'c1-abcde', force: false, dryRun: false, withPools: false, spare: [] }

async function answerOf(run: (print: (text: string) => void) => Promise<number>) {
  const printed: string[] = []
  const code = await run(text => printed.push(text))
  return { code, text: printed.join('\n') }
}

const validated = async (text: string, more: Partial<ValidateOptions> = {}) => {
  const file = await aFile(text)
  return answerOf(print => validate(file, { ...usual, ...more }, print))
}

const made = async (text: string, more: Partial<ManifestsOptions>) => {
  const file = await aFile(text)
  return answerOf(print => manifests(file, { ...usualManifests, ...more }, print))
}

const noGateway = installConfig({
  hosts: threeAndThree().map((host, i) =>
    i === 4 ? { ...host, networkDevice: { ...aDevice('192.168.101.244/24'), gateway: '' } } : host,
  ),
})

describe('mooring vsphere validate', () => {
  test('ends with 0 where nothing is wrong', async () => {
    expect(await validated(installConfig())).toEqual({ code: 0, text: '0 errors, 0 warnings' })
  })

  test('shows each fault with file, line and column, and ends with 5', async () => {
    const { code, text } = await validated(installConfig().replace('role: compute', 'role: conpute'))
    expect(code).toBe(exitCodes.refused)
    expect(text).toMatch(
      /^install-config.yaml:\d+:\d+ +error +RoleUnknown +platform\.vsphere\.hosts\[4\]\.role: Unsupported/m,
    )
    expect(text).toMatch(/^2 errors, 0 warnings$/m)
  })

  test('ends with 0 where there are warnings alone, and with 5 for them where that is asked for', async () => {
    expect((await validated(noGateway)).code).toBe(0)
    expect((await validated(noGateway, { strict: true })).code).toBe(exitCodes.refused)
  })

  test('does not judge hosts of an agent-based install, which does not read them, and says so', async () => {
    const text = installConfig().replace('role: compute', 'role: conpute')
    const file = await aFile(text)
    await writeFile(join(file, '..', 'agent-config.yaml'), 'kind: AgentConfig')
    const { code, text: said } = await answerOf(print => validate(file, usual, print))
    expect(code).toBe(0)
    expect(said).toMatch(
      /^install-config.yaml:\d+:\d+ +warning +HostsUnread +platform\.vsphere\.hosts: agent-config\.yaml is beside this file/m,
    )
    expect(said).toMatch(/^0 errors, 1 warning$/m)
    const planned = await answerOf(print => manifests(file, { ...usualManifests, dryRun: true }, print))
    expect(planned.code).toBe(0)
    expect(planned.text).not.toContain('ip=')
  })

  test('prints JSON for scripts', async () => {
    const { text } = await validated(noGateway, { output: 'json' })
    expect(JSON.parse(text)).toMatchObject({
      errors: 0,
      warnings: 1,
      faults: [{ check: 'GatewayMissing', severity: 'warning' }],
    })
  })

  test('shows what is hidden in a file as what it is', async () => {
    const { text } = await validated(installConfig().replace('role: compute', 'role: "con\\u001b[31m\\u202epute"'))
    for (const hidden of ['\u001b', '\u202e']) expect(text).not.toContain(hidden)
    expect(text).toContain('\\u001b')
  })

  test('names a thousand faults, and says how many there are', async () => {
    const keys = Array.from({ length: 2_000 }, (_, i) => `k${i}: x`).join(', ')
    const { text } = await validated(`platform: {vsphere: {hosts: [{${keys}}]}}`)
    expect(text.match(/KeyUnknown/g)).toHaveLength(1_000)
    expect(text).toMatch(/^20\d\d errors, 0 warnings; the first 1000 are named$/m)
  })

  test('refuses an address that a ledger holds, in the space that is meant', async () => {
    const { client } = await aServer()
    const pool = { apiGroup: 'mooring.dev', kind: 'AddressPool', namespace: 'default', name: 'vms' }
    const claim = {
      apiGroup: 'ipam.cluster.x-k8s.io',
      kind: 'IPAddressClaim',
      namespace: 'default',
      name: 'web-0',
      uid: 'u',
    }
    const ip = orThrow(parseIP('192.168.101.244'))
    const spec = { space: 'lab', ip, bits: 32, pool, claim, owner: undefined }
    await client.create(holds, toHoldObject(spec, '2030-01-01T00:00:00Z'))
    const file = await aFile(installConfig())
    const inSpace = (space?: string) =>
      answerOf(print => validateWith(client, file, { ...usual, ...(space !== undefined && { space }) }, print))
    const { code, text } = await inSpace()
    expect(code).toBe(exitCodes.refused)
    expect(text).toContain('"192.168.101.244/24": it is held by IPAddressClaim default/web-0 in space lab')
    expect((await inSpace('lab')).code).toBe(exitCodes.refused)
    expect((await inSpace('other')).code).toBe(0)
  })

  test.each([
    [{ output: 'xml' }, '--output does not know "xml"'],
    [{ space: 'lab' }, '--space is of no use without a ledger'],
  ])('refuses %j as a mistake of usage', async (more, message) => {
    const refusal = await validated(installConfig(), more).catch(error => error)
    expect(refusal).toBeInstanceOf(Failure)
    expect(refusal).toMatchObject({ exitCode: exitCodes.usage, message: expect.stringContaining(message) })
  })

  test('says which file cannot be read', async () => {
    const missing = join(await aDirectory(), 'nothing.yaml')
    await expect(validate(missing, usual, () => {})).rejects.toMatchObject({ exitCode: exitCodes.environment })
    const large = await aFile('#'.repeat(1024 * 1024 + 1))
    await expect(validate(large, usual, () => {})).rejects.toMatchObject({ exitCode: exitCodes.data })
  })
})

describe('mooring vsphere manifests', () => {
  test('shows the plan, and writes nothing', async () => {
    const out = join(await aDirectory(), 'out')
    const { code, text } = await made(installConfig(), { dryRun: true, out, infraId: '' })
    expect(code).toBe(0)
    expect(text).toMatch(
      /^c1-xxxxx-worker-0 +a +vlan-101 +192\.168\.101\.244\/24 +192\.168\.101\.1 +192\.168\.101\.2 +c1-xxxxx-worker-0-claim-0-0 +ip=/m,
    )
    expect(text).toMatch(/^22 files would be written\.$/m)
    await expect(readdir(out)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('writes each file whole, and nothing else', async () => {
    const out = join(await aDirectory(), 'out')
    expect((await made(installConfig(), { out })).code).toBe(0)
    const names = await readdir(out)
    expect(names).toHaveLength(22)
    for (const name of names) expect(parse(await readFile(join(out, name), 'utf8'))).toHaveProperty('apiVersion')
  })

  test('writes the same bytes each time', async () => {
    const [one, other] = [join(await aDirectory(), 'out'), join(await aDirectory(), 'out')]
    for (const out of [one, other]) await made(installConfig(), { out })
    for (const name of await readdir(one)) {
      expect(await readFile(join(other, name), 'utf8')).toBe(await readFile(join(one, name), 'utf8'))
    }
  })

  test('leaves a directory with files alone, unless it is told otherwise', async () => {
    const out = await aDirectory()
    await writeFile(join(out, 'mine.yaml'), 'mine')
    await expect(made(installConfig(), { out })).rejects.toMatchObject({ exitCode: exitCodes.environment })
    expect(await readdir(out)).toEqual(['mine.yaml'])
    expect((await made(installConfig(), { out, force: true })).code).toBe(0)
    expect(await readFile(join(out, 'mine.yaml'), 'utf8')).toBe('mine')
    expect(await readdir(out)).toHaveLength(23)
  })

  test('makes nothing while there are errors, or warnings where that is asked for', async () => {
    const out = join(await aDirectory(), 'out')
    const { code, text } = await made(installConfig({ hosts: [] }), { out })
    expect(code).toBe(exitCodes.refused)
    expect(text).toContain('Nothing is made while there are errors.')
    expect((await made(noGateway, { out, strict: true })).code).toBe(exitCodes.refused)
    await expect(readdir(out)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('writes pools with what is spare, and refuses what is in no subnet', async () => {
    const out = join(await aDirectory(), 'out')
    await made(installConfig(), { out, withPools: true, spare: ['192.168.101.100-192.168.101.110'] })
    const pool = parse(await readFile(join(out, '99_openshift-machine-api_ippool-default-0.yaml'), 'utf8'))
    expect(pool.spec.addresses).toHaveLength(7)
    const more = { out, withPools: true, spare: ['10.0.0.1-10.0.0.9'], force: true }
    await expect(made(installConfig(), more)).rejects.toMatchObject({ exitCode: exitCodes.refused })
  })

  test.each<[Partial<ManifestsOptions>, string]>([
    [{}, 'needs --out or --dry-run'],
    [{ out: 'x', infraId: '' }, 'needs --infra-id'],
    [{ dryRun: true, spare: ['10.0.0.1'] }, '--spare goes with --with-pools'],
    [{ dryRun: true, infraId: 'Not A Name' }, 'is no beginning of a name'],
    [{ dryRun: true, infraId: '../../etc' }, 'is no beginning of a name'],
  ])('refuses %j as a mistake of usage', async (more, message) => {
    const refusal = await made(installConfig(), more).catch(error => error)
    expect(refusal).toMatchObject({ exitCode: exitCodes.usage, message: expect.stringContaining(message) })
  })

  test('prints JSON with nodes and objects', async () => {
    const { text } = await made(installConfig(), { dryRun: true, output: 'json' })
    const { nodes, manifests: all, errors } = JSON.parse(text)
    expect([nodes.length, all.length, errors]).toEqual([7, 22, 0])
  })
})

describe('mooring vsphere kargs', () => {
  const told = (directory: string, installConfigFile?: string) =>
    answerOf(print =>
      kargs(
        directory,
        { output: 'json', ...(installConfigFile !== undefined && { installConfig: installConfigFile }) },
        print,
      ),
    )
  const address = '99_openshift-machine-api_address-c1-abcde-master-0-claim-0-0.yaml'

  async function written(): Promise<string> {
    const out = join(await aDirectory(), 'out')
    await made(installConfig(), { out })
    return out
  }

  async function edit(file: string, spec: object): Promise<void> {
    const object = parse(await readFile(file, 'utf8'))
    await writeFile(file, stringify({ ...object, spec: { ...object.spec, ...spec } }))
  }

  test('has what an administrator changed in the file of an address', async () => {
    const out = await written()
    await edit(join(out, address), { address: '192.168.101.99' })
    const { code, text } = await told(out)
    expect(code).toBe(0)
    const [master] = JSON.parse(text).nodes
    expect(master.kargs).toBe('ip=192.168.101.99::192.168.101.1:255.255.255.0:::none nameserver=192.168.101.2')
  })

  test('has the bootstrap machine and failure domains where the install-config is named', async () => {
    const { text } = await told(await written(), await aFile(installConfig()))
    const { nodes } = JSON.parse(text)
    expect(nodes.map(({ name, failureDomain }: Record<string, string>) => [name, failureDomain]).slice(0, 2)).toEqual([
      ['c1-abcde-bootstrap', 'a'],
      ['c1-abcde-master-0', 'a'],
    ])
  })

  test('says what cannot be, and ends with 5', async () => {
    const out = await written()
    await edit(join(out, address), { gateway: 'x' })
    const { code, text } = await told(out)
    expect(code).toBe(exitCodes.refused)
    expect(JSON.parse(text).faults).toEqual([
      expect.stringContaining('IPAddress c1-abcde-master-0-claim-0-0: spec.gateway: '),
    ])
  })

  test('says which arguments a guest makes nothing of', async () => {
    const out = await written()
    await edit(join(out, address), { address: '2001:db8::9', prefix: 64 })
    const { text } = await answerOf(print => kargs(out, { output: 'table' }, print))
    expect(text).toContain('warning: c1-abcde-master-0 makes nothing of nameserver=192.168.101.2: no device has IPv4')
  })

  test('says which machines will not have what they are told: by their command line, or by what Ignition writes', async () => {
    const out = await written()
    const file = '/etc/NetworkManager/system-connections/ens192.nmconnection'
    const config = {
      kind: 'MachineConfig',
      metadata: { name: 'nm', labels: { 'machineconfiguration.openshift.io/role': 'worker' } },
      spec: { config: { storage: { files: [{ path: file }, { path: '/etc/motd' }] } } },
    }
    await writeFile(join(out, '99_machine-config.yaml'), stringify(config))
    const warnings = async (commandLine?: string) => {
      const options = { output: 'table', ...(commandLine !== undefined && { commandLine }) }
      const { text } = await answerOf(print => kargs(out, options, print))
      return text.split('\n').filter(line => line.startsWith('warning: '))
    }
    expect(await warnings()).toEqual(
      [0, 1, 2].map(
        i =>
          `warning: c1-abcde-worker-${i}: Ignition writes ${file}, so after its first boot it has that, and not what it is told`,
      ),
    )
    expect(await warnings('rw ip=dhcp')).toHaveLength(9)
    expect((await warnings('rw ip=dhcp'))[0]).toBe(
      'warning: c1-abcde-master-0: its own command line has ip=dhcp, so it does not look at what it is told',
    )
    expect(await warnings('rw')).toHaveLength(3)
  })

  test('refuses a directory without machines, a file that is no manifest, and an install-config that cannot be read', async () => {
    const out = await aDirectory()
    await expect(told(out)).rejects.toMatchObject({
      exitCode: exitCodes.data,
      message: expect.stringContaining('no Machine'),
    })
    await writeFile(join(out, 'a.yaml'), 'a: [')
    await expect(told(out)).rejects.toMatchObject({
      exitCode: exitCodes.data,
      message: expect.stringContaining('a.yaml is no manifest'),
    })
    await expect(told(await written(), await aFile('- x'))).rejects.toMatchObject({ exitCode: exitCodes.data })
    await expect(told(join(out, 'nothing'))).rejects.toMatchObject({ exitCode: exitCodes.environment })
  })
})
