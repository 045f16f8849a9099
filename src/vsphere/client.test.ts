// A session with a server that answers by hand: what the simulator in `npm run test:vsphere` does not do.

import { afterEach, describe, expect, test } from 'vitest'
import {
  type Asked,
  answered,
  faulted,
  type Said,
  type Script,
  startScriptedVCenter,
  usual,
} from '../../test/harness/scripted-vcenter.ts'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { vsphereCallMsMax, xmlCharsMax } from '../limits.ts'
import { connectVSphere, type VSphereOptions } from './client.ts'
import { collect } from './collect.ts'
import { VimFault, VSphereConnectionError } from './fault.ts'
import { toRef } from './value.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const password = 'hunter2 & <others>'

async function aVCenter(script: Script = usual) {
  const server = await startScriptedVCenter(script)
  ends.push(() => server.close())
  const clock = new VirtualClock()
  const { url, ca } = server
  const options: VSphereOptions = { url, ca, userName: 'reader@vsphere.local', password, clock, random: () => 0 }
  const connect = async (more: Partial<VSphereOptions> = {}) => {
    const client = await connectVSphere({ ...options, ...more })
    ends.push(() => client.close())
    return client
  }
  return { server, clock, options, connect, host: new URL(url).host }
}

const refusalOf = (attempt: Promise<unknown>): Promise<Error> =>
  attempt.then(
    () => new Error('it was not refused'),
    (error: Error) => error,
  )

const vm = toRef('VirtualMachine', 'vm-1')

describe('a session', () => {
  test('B01 asks the server for its managers first, and logs in with the one it names', async () => {
    const { server, connect } = await aVCenter()
    const client = await connect()
    expect(server.methods()).toEqual(['RetrieveServiceContent', 'Login'])
    expect(server.asked[1]?.body).toContain('<_this type="T">ha-sessionManager</_this>')
    expect(server.asked[1]?.body).toContain('<password>hunter2 &amp; &lt;others&gt;</password>')
    expect(client.about).toEqual({ fullName: 'a host', apiVersion: '8.0', apiType: 'HostAgent' })
    await client.call('PowerOnVM_Task', vm)
    expect(server.asked[2]?.cookie).toBe('vmware_soap_session="session-1"')
  })

  test('B02 is refused with host and user, never the password, and does not try again', async () => {
    const { server, connect, host } = await aVCenter((asked, past) =>
      asked.method === 'Login' ? faulted('InvalidLogin', 'Cannot complete login') : usual(asked, past),
    )
    const error = await refusalOf(connect())
    expect(error).toBeInstanceOf(VimFault)
    expect(error.message).toBe(`${host} refuses the user "reader@vsphere.local": check user name and password`)
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('hunter2')
    expect(server.methods()).toEqual(['RetrieveServiceContent', 'Login'])
  })

  test('a password that XML cannot carry is refused without being repeated', async () => {
    const { connect, clock } = await aVCenter()
    const error = await refusalOf(connect({ password: 'secret\u0000' }))
    expect(clock.timers).toBe(0)
    expect(error.message).toBe('password has a character that XML cannot carry: leave out control characters')
  })

  test('B03 that has expired is begun again without its old cookie, and the call repeated', async () => {
    const { server, connect } = await aVCenter((asked, past) =>
      asked.method === 'PowerOnVM_Task' && past.filter(({ method }) => method === 'Login').length < 2
        ? faulted('NotAuthenticated')
        : usual(asked, past),
    )
    const client = await connect()
    await client.call('PowerOnVM_Task', vm)
    expect(server.methods().slice(2)).toEqual(['PowerOnVM_Task', 'Login', 'PowerOnVM_Task'])
    expect(server.asked[3]?.cookie).toBeUndefined()
    expect(client.sessions).toBe(2)
  })

  test('B03 is begun again once for calls that find out together', async () => {
    const callers = 3
    let allHere = (): void => {}
    const gathered = new Promise<void>(resolve => {
      allHere = resolve
    })
    const count = (past: readonly Asked[], wanted: string) => past.filter(({ method }) => method === wanted).length
    const { server, connect } = await aVCenter(async (asked, past) => {
      if (asked.method !== 'PowerOnVM_Task' || count(past, 'Login') > 1) return usual(asked, past)
      if (count(past, 'PowerOnVM_Task') === callers - 1) allHere()
      await gathered
      return faulted('NotAuthenticated')
    })
    const client = await connect()
    await Promise.all(Array.from({ length: callers }, () => client.call('PowerOnVM_Task', vm)))
    expect(count(server.asked, 'Login')).toBe(2)
    expect(count(server.asked, 'PowerOnVM_Task')).toBe(2 * callers)
  })

  test('B03 is not begun a third time for a call that learns late that the first has ended', async () => {
    let letGo = (): void => {}
    const held = new Promise<void>(resolve => {
      letGo = resolve
    })
    const { server, connect } = await aVCenter(async (asked, past) => {
      const isOld = past.filter(({ method }) => method === 'Login').length < 2
      if (!asked.method.startsWith('Power') || !isOld) return usual(asked, past)
      if (asked.method === 'PowerOffVM_Task') await held
      return faulted('NotAuthenticated')
    })
    const client = await connect()
    const late = client.call('PowerOffVM_Task', vm)
    await expect.poll(() => server.methods()).toContain('PowerOffVM_Task')
    await client.call('PowerOnVM_Task', vm)
    letGo()
    await late
    expect(client.sessions).toBe(2)
  })

  test('B03 that a server never accepts ends with its fault, not in a circle', async () => {
    const { server, connect, host } = await aVCenter((asked, past) =>
      asked.method === 'PowerOnVM_Task' ? faulted('NotAuthenticated', 'no session') : usual(asked, past),
    )
    const error = await refusalOf((await connect()).call('PowerOnVM_Task', vm))
    expect(error.message).toBe(`PowerOnVM_Task at ${host}: no session (NotAuthenticated)`)
    expect(server.methods().slice(2)).toEqual(['PowerOnVM_Task', 'Login', 'PowerOnVM_Task'])
  })

  test('no other fault makes a call be sent twice', async () => {
    const { server, connect } = await aVCenter((asked, past) =>
      asked.method === 'CloneVM_Task' ? faulted('SystemError', 'try later') : usual(asked, past),
    )
    await refusalOf((await connect()).call('CloneVM_Task', vm))
    expect(server.methods().slice(2)).toEqual(['CloneVM_Task'])
  })
})

describe('trust', () => {
  test('B04 a server whose certificate nothing vouches for is told nothing at all', async () => {
    const { server, options, host } = await aVCenter()
    const { ca: _, ...without } = options
    const error = await refusalOf(connectVSphere(without))
    expect(error).toBeInstanceOf(VSphereConnectionError)
    const { thumbprint } = error as VSphereConnectionError
    expect(thumbprint).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)
    expect(error.message).toContain(`the certificate of ${host} is not trusted`)
    expect(error.message).toContain(thumbprint)
    expect(server.asked).toEqual([])
  })

  test('B04 no environment variable makes us trust a server', async () => {
    const { server, options } = await aVCenter()
    const { ca: _, ...without } = options
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    try {
      expect(await refusalOf(connectVSphere(without))).toBeInstanceOf(VSphereConnectionError)
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
    }
    expect(server.asked).toEqual([])
  })

  test('B04 a certificate of the given authority for another name is refused', async () => {
    const { server, connect } = await aVCenter()
    const error = await refusalOf(connect({ url: server.url.replace('127.0.0.1', 'localhost') }))
    expect(error.message).toContain('is not trusted')
    expect(server.asked).toEqual([])
  })

  test('B05 the right thumbprint is enough, the wrong one is refused before anything is sent', async () => {
    const { server, options, connect } = await aVCenter()
    const { ca: _, ...without } = options
    const { thumbprint = '' } = (await refusalOf(connectVSphere(without))) as VSphereConnectionError
    const error = await refusalOf(
      connect({ thumbprint: thumbprint.replace(/^../, thumbprint.startsWith('00') ? '11' : '00') }),
    )
    expect(error.message).toContain('another certificate')
    expect(server.asked).toEqual([])
    const client = await connectVSphere({ ...without, thumbprint: thumbprint.toLowerCase() })
    ends.push(() => client.close())
    expect(server.methods()).toEqual(['RetrieveServiceContent', 'Login'])
  })

  test.each([
    ['AA:BB', 'not one of SHA-256'],
    ['AB'.repeat(20), 'one of SHA-1'],
  ])('B05 the thumbprint %s is refused', async (thumbprint, why) => {
    const { connect } = await aVCenter()
    expect((await refusalOf(connect({ thumbprint }))).message).toContain(why)
  })

  test.each(['http://vcenter.example', 'https://user:secret@vcenter.example', 'vcenter'])(
    'the address %s is refused, and not repeated',
    async url => {
      const { connect } = await aVCenter()
      const error = await refusalOf(connect({ url }))
      expect(error.message).toBe(
        'the address of the vCenter is not one of https without a user: write it such as https://vcenter.example',
      )
    },
  )
})

describe('an answer', () => {
  const bomb = '<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><l>&b;</l>'
  const cases: readonly (readonly [string, Said, string])[] = [
    ['with entities of its own', { body: bomb }, 'a document type is not allowed here'],
    ['that is nested without end', { body: '<a>'.repeat(5_000) }, 'nested deeper than'],
    ['that is longer than any', { body: `<a>${' '.repeat(xmlCharsMax)}</a>` }, 'the answer is longer than'],
    ['of a web server', { status: 503, body: '<html>down</html>' }, 'no answer of a vCenter, but HTTP 503'],
    ['of another service', { body: '<ok/>' }, 'no answer of a vCenter, but HTTP 200'],
    ['that is no XML', { body: 'It works!' }, 'the answer is not XML: line 1'],
    ['that fails without a fault', { status: 500, body: 'oops' }, 'no answer of a vCenter, but HTTP 500'],
    ['that is cut off', { body: answered('PowerOnVM_Task').body.slice(0, -9) }, 'the answer is not XML'],
  ]
  test.each(cases)('%s is refused, and the error names the server', async (_, said, why) => {
    const { connect, host } = await aVCenter((asked, past) =>
      asked.method === 'PowerOnVM_Task' ? said : usual(asked, past),
    )
    const error = await refusalOf((await connect()).call('PowerOnVM_Task', vm))
    expect(error).toBeInstanceOf(VSphereConnectionError)
    expect(error.message).toContain(`PowerOnVM_Task at ${host}`)
    expect(error.message).toContain(why)
  })

  test('that does not come is waited for as long as was said', async () => {
    let reached = (): void => {}
    const arrived = new Promise<void>(resolve => {
      reached = resolve
    })
    const { connect, clock, host } = await aVCenter((asked, past) => {
      if (asked.method !== 'PowerOnVM_Task') return usual(asked, past)
      reached()
      return undefined
    })
    const attempt = refusalOf((await connect()).call('PowerOnVM_Task', vm))
    await arrived
    await clock.advance(vsphereCallMsMax)
    expect((await attempt).message).toBe(`PowerOnVM_Task at ${host}: no answer within 60 s`)
  })

  test('that its caller no longer wants is not waited for', async () => {
    const stop = new AbortController()
    const { connect } = await aVCenter((asked, past) => {
      if (asked.method !== 'PowerOnVM_Task') return usual(asked, past)
      stop.abort()
      return undefined
    })
    const error = await refusalOf((await connect()).call('PowerOnVM_Task', vm, {}, stop.signal))
    expect(error.name).toBe('AbortError')
  })
})

describe('a listing', () => {
  const object = (id: number): string =>
    `<objects><obj type="VirtualMachine">vm-${id}</obj><propSet><name>name</name><val>m${id}</val></propSet></objects>`
  const page = (method: string, ids: readonly number[], token?: string): Said =>
    answered(method, `<returnval>${token ? `<token>${token}</token>` : ''}${ids.map(object).join('')}</returnval>`)
  const names = [{ type: 'VirtualMachine', paths: ['name'] }]

  test('B06 goes on until there is no token; an object that moved between pages is there once', async () => {
    const { server, connect } = await aVCenter((asked, past) => {
      const { method, body } = asked
      if (method === 'RetrievePropertiesEx') return page(method, [1, 2], 'a')
      if (method === 'ContinueRetrievePropertiesEx')
        return body.includes('>a<') ? page(method, [2, 3], 'b') : page(method, [4])
      return usual(asked, past)
    })
    const found = await collect(await connect(), names, { pageObjects: 2 })
    expect(found.map(({ ref }) => ref.ref.value)).toEqual(['vm-1', 'vm-2', 'vm-3', 'vm-4'])
    expect(server.asked.find(({ method }) => method === 'RetrievePropertiesEx')?.body).toContain(
      '<maxObjects>2</maxObjects>',
    )
    expect(server.methods().at(-1)).toBe('DestroyView')
  })

  test('B06 begins again if the session ended between two pages, since its pages ended with it', async () => {
    const isFirst = (past: readonly Asked[]) => past.filter(({ method }) => method === 'Login').length < 2
    const { connect } = await aVCenter((asked, past) => {
      const { method } = asked
      if (method === 'RetrievePropertiesEx') return page(method, [1], 'a')
      if (method !== 'ContinueRetrievePropertiesEx') return usual(asked, past)
      if (isFirst(past)) return faulted('NotAuthenticated')
      // The token of the first session is unknown to the second, until that has one of its own.
      const lists = past.filter(one => one.method === 'RetrievePropertiesEx').length
      return lists < 2 ? faulted('InvalidArgument') : page(method, [2])
    })
    const found = await collect(await connect(), names)
    expect(found.map(({ ref }) => ref.ref.value)).toEqual(['vm-1', 'vm-2'])
  })

  test('that a fault ends is told, and its view is taken away', async () => {
    const { server, connect } = await aVCenter((asked, past) =>
      asked.method === 'RetrievePropertiesEx' ? faulted('InvalidProperty', 'no such path') : usual(asked, past),
    )
    const error = await refusalOf(collect(await connect(), names))
    expect((error as VimFault).fault).toBe('InvalidProperty')
    expect(server.methods().filter(method => method === 'CreateContainerView')).toHaveLength(1)
    expect(server.methods().at(-1)).toBe('DestroyView')
  })
})

describe('a task', () => {
  const info = (state: string, more = ''): Said =>
    answered(
      'RetrievePropertiesEx',
      '<returnval><objects><obj type="Task">task-1</obj><propSet><name>info</name>' +
        `<val><descriptionId>VirtualMachine.clone</descriptionId><state>${state}</state>${more}</val></propSet></objects></returnval>`,
    )
  const task = toRef('Task', 'task-1')

  test('is asked for less and less often, until it has ended', async () => {
    const { connect, clock, server } = await aVCenter((asked, past) => {
      const polls = past.filter(({ method }) => method === 'RetrievePropertiesEx').length
      if (asked.method !== 'RetrievePropertiesEx') return usual(asked, past)
      return polls < 4 ? info('running') : info('success', '<result type="VirtualMachine">vm-9</result>')
    })
    const client = await connect()
    const waits: number[] = []
    let isOver = false
    const result = client.waitForTask(task).finally(() => {
      isOver = true
    })
    // The call's own deadline is a timer too, and is gone once the answer has come.
    while (!isOver) {
      await new Promise(resolve => setImmediate(resolve))
      if (clock.timers !== 1 || clock.nextMs === undefined || clock.nextMs >= vsphereCallMsMax) continue
      waits.push(clock.nextMs)
      await clock.advance(clock.nextMs)
    }
    expect((await result)?.text).toBe('vm-9')
    expect(waits).toEqual([200, 300, 450, 675])
    expect(server.methods().filter(method => method === 'RetrievePropertiesEx')).toHaveLength(5)
  })

  test('that failed says what, where and why', async () => {
    const type = 'xmlns:x="http://www.w3.org/2001/XMLSchema-instance" x:type="InsufficientResourcesFault"'
    const why = `<error><fault ${type}/><localizedMessage>no room</localizedMessage></error>`
    const { connect, host } = await aVCenter((asked, past) =>
      asked.method === 'RetrievePropertiesEx' ? info('error', why) : usual(asked, past),
    )
    const error = await refusalOf((await connect()).waitForTask(task))
    expect(error.message).toBe(`VirtualMachine.clone at ${host}: no room (InsufficientResourcesFault)`)
  })

  test('is not waited for once its caller stops', async () => {
    const stop = new AbortController()
    const { connect } = await aVCenter((asked, past) => {
      if (asked.method !== 'RetrievePropertiesEx') return usual(asked, past)
      setImmediate(() => stop.abort())
      return info('queued')
    })
    expect((await refusalOf((await connect()).waitForTask(task, stop.signal))).name).toBe('AbortError')
  })
})
