// `mooring import plan --vcenter`: machines of a vCenter as it is now. How they are read is tried in src/sources and src/vsphere.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { exitCodes, Failure } from '../../src/cli/failure.ts'
import { type ImportPlanOptions, planWith } from '../../src/cli/import.ts'
import { answered, faulted, type Script, startScriptedVCenter, usual } from '../harness/scripted-vcenter.ts'

const xsi = 'xmlns:q="http://www.w3.org/2001/XMLSchema-instance"'
const property = (name: string, value: string): string =>
  `<propSet><name>${name}</name><val ${xsi} q:type="T">${value}</val></propSet>`
const card =
  `<VirtualDevice ${xsi} q:type="VirtualVmxnet3"><key>4000</key><macAddress>00:50:56:AA:BB:01</macAddress>` +
  '<backing><deviceName>VM Network</deviceName></backing></VirtualDevice>'
const machine = `<objects><obj type="VirtualMachine">vm-1</obj>${property('name', 'web')}${property('config.hardware.device', card)}</objects>`

const withOneMachine: Script = (asked, past) => {
  if (asked.method !== 'RetrievePropertiesEx') return usual(asked, past)
  const isOfMachines = asked.body.includes('<propSet><type>VirtualMachine<')
  return answered(asked.method, `<returnval>${isOfMachines ? machine : ''}</returnval>`)
}

async function plan(script: Script, more: Partial<ImportPlanOptions> = {}) {
  const server = await startScriptedVCenter(script)
  const directory = await mkdtemp(join(tmpdir(), 'mooring-import-'))
  onTestFinished(async () => {
    await server.close()
    await rm(directory, { recursive: true })
  })
  const [vcenterPasswordFile, vcenterCa] = [join(directory, 'password'), join(directory, 'ca.pem')]
  await writeFile(vcenterPasswordFile, 'hunter2\n')
  await writeFile(vcenterCa, server.ca)
  let text = ''
  const options: ImportPlanOptions = {
    namespace: 'shop',
    map: ['VM Network=cudn:blue'],
    subnet: ['VM Network=10.0.0.0/24,10.0.0.254'],
    address: ['00:50:56:aa:bb:01=10.0.0.5'],
    output: 'json',
    defaultNetworkNamespace: 'ovn-kubernetes',
    ...{ vcenter: server.url, vcenterUser: 'reader', vcenterPasswordFile, vcenterCa },
    ...more,
  }
  const code = await planWith({ client: undefined, namespace: 'shop' }, [], options, line => {
    text += line
  }).catch(error => (error instanceof Failure ? error : Promise.reject(error)))
  return { code, text, asked: server.asked }
}

test('machines are read from a vCenter, with the password of a file, and the session is ended', async () => {
  const { code, text, asked } = await plan(withOneMachine)
  expect(code).toBe(0)
  expect(JSON.parse(text).cards).toMatchObject([
    { machine: 'web', nic: '4000', target: 'cudn:blue', mac: '00:50:56:aa:bb:01', ips: ['10.0.0.5'] },
  ])
  expect(asked.find(({ method }) => method === 'Login')?.body).toContain('<password>hunter2</password>')
  expect(asked.at(-1)?.method).toBe('Logout')
  expect(text).not.toContain('hunter2')
})

test('B04: a vCenter that is not trusted is refused with its thumbprint to compare, before a password is sent', async () => {
  const { code, asked } = await plan(withOneMachine, { vcenterCa: undefined } as never)
  expect(code).toMatchObject({ exitCode: exitCodes.environment })
  expect((code as Failure).advice).toMatch(/--vcenter-thumbprint ([0-9A-F]{2}:){31}[0-9A-F]{2}/i)
  expect(asked).toEqual([])
})

test('B02: a login that is refused is said without the password, and ends with 3', async () => {
  const { code } = await plan((asked, past) =>
    asked.method === 'Login' ? faulted('InvalidLogin') : usual(asked, past),
  )
  expect(code).toMatchObject({ exitCode: exitCodes.environment })
  expect((code as Failure).message).not.toContain('hunter2')
})

test('without a file, a vCenter or its user there is nothing to read', async () => {
  const refused = async (more: object) => (await plan(usual, more as never)).code
  expect(await refused({ vcenter: undefined })).toMatchObject({ exitCode: exitCodes.usage })
  expect(await refused({ vcenterUser: undefined })).toMatchObject({ exitCode: exitCodes.usage })
  expect(await refused({ vcenterPasswordFile: '/nowhere' })).toMatchObject({ exitCode: exitCodes.environment })
})
