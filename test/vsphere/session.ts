// How a session begins, whom it trusts, how it is renewed, and that no machine is lost between pages.

import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert'
import { readVSphere } from '../../src/sources/vsphere.ts'
import { connectVSphere, type VSphereClient } from '../../src/vsphere/client.ts'
import { collect } from '../../src/vsphere/collect.ts'
import { isVimFault, VimFault, VSphereConnectionError } from '../../src/vsphere/fault.ts'
import { toRef } from '../../src/vsphere/value.ts'
import type { Sentences } from '../capi/sentences.ts'
import { machineNamed, runTask } from './guest.ts'
import type { VCenter } from './vcenter.ts'

async function refusalOf(attempt: Promise<VSphereClient>): Promise<Error> {
  try {
    await (await attempt).close()
  } catch (error) {
    return error as Error
  }
  throw new Error('it was let in')
}

export async function checkSession(sentences: Sentences, { options, thumbprint }: VCenter): Promise<void> {
  await sentences.it('B01 the managers of a session are those that the server names', async () => {
    const client = await connectVSphere({ ...options, thumbprint })
    strictEqual(client.about.apiType, 'VirtualCenter')
    ok(client.about.instanceUuid)
    deepStrictEqual(client.content.rootFolder, toRef('Folder', 'group-d1'))
    await client.close()
  })

  await sentences.it(
    'B02 a wrong password is refused by an error that names host and user, not the password',
    async () => {
      for (const password of ['not-the-one', '']) {
        const error = await refusalOf(connectVSphere({ ...options, thumbprint, password }))
        ok(isVimFault(error, 'InvalidLogin'), String(error))
        match(error.message, new RegExp(`^${new URL(options.url).host} refuses the user "user"`))
        ok(!error.message.includes('not-the-one'))
      }
    },
  )

  await sentences.it('B03 a session that has ended is begun again, once, and the call repeated', async () => {
    const client = await connectVSphere({ ...options, thumbprint })
    await client.call('Logout', client.content.sessionManager)
    const { machines } = await readVSphere(client, { asOf: '' })
    strictEqual(machines.length, 4)
    strictEqual(client.sessions, 2)
    await client.close()
  })

  await sentences.it('B04 a server that signs itself is refused, and its thumbprint told', async () => {
    const error = await refusalOf(connectVSphere(options))
    ok(error instanceof VSphereConnectionError)
    match(error.thumbprint ?? '', /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)
    ok(error.message.includes(error.thumbprint ?? '-'))
  })

  await sentences.it(
    'B05 a server with the given thumbprint is trusted, with another it is not asked to log in',
    async () => {
      await (await connectVSphere({ ...options, thumbprint: thumbprint.replaceAll(':', '').toLowerCase() })).close()
      const error = await refusalOf(connectVSphere({ ...options, thumbprint: thumbprint.replace(/^../, '00') }))
      match(error.message, /another certificate/)
    },
  )

  await sentences.it('B06 machines that come in pages of one are each there once', async () => {
    const client = await connectVSphere({ ...options, thumbprint })
    let continued = 0
    const counting: VSphereClient = {
      ...client,
      call: (method, ...rest) => {
        if (method === 'ContinueRetrievePropertiesEx') continued++
        return client.call(method, ...rest)
      },
    }
    const found = await collect(counting, [{ type: 'VirtualMachine', paths: ['name'] }], { pageObjects: 1 })
    deepStrictEqual(
      new Set(found.map(({ properties }) => properties.get('name')?.text)),
      new Set(['DC0_C0_RP0_VM0', 'DC0_C0_RP0_VM1', 'DC0_H0_VM0', 'DC0_H0_VM1']),
    )
    strictEqual(found.length, 4)
    strictEqual(continued, 3)
    await client.close()
  })

  await sentences.it('a task is waited for, and one that fails says why', async () => {
    const client = await connectVSphere({ ...options, thumbprint })
    const vm = await machineNamed(client, 'DC0_H0_VM1')
    await runTask(client, 'PowerOffVM_Task', vm)
    await rejects(runTask(client, 'PowerOffVM_Task', vm), error => {
      ok(error instanceof VimFault)
      strictEqual(error.fault, 'InvalidPowerState')
      return true
    })
    await runTask(client, 'PowerOnVM_Task', vm)
    await client.close()
  })

  await sentences.it('an object that is gone is told by the fault of the server', async () => {
    const client = await connectVSphere({ ...options, thumbprint })
    await rejects(client.call('PowerOnVM_Task', toRef('VirtualMachine', 'vm-999999')), error =>
      isVimFault(error, 'ManagedObjectNotFound'),
    )
    await client.close()
  })
}
