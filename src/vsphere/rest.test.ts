// The REST API of a server that answers by hand, and what is asked of it: tags.

import { afterEach, describe, expect, test } from 'vitest'
import { type Asked, type Said, startScriptedVCenter, usual } from '../../test/harness/scripted-vcenter.ts'
import { VirtualClock } from '../../test/harness/virtual-clock.ts'
import { isTagID } from '../api/vsphere-provider-spec.ts'
import { restCharsMax } from '../limits.ts'
import { connectVSphere } from './client.ts'
import { attachedTags, attachTags, findTags } from './tags.ts'
import { toRef } from './value.ts'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const password = 'hunter2'
const session = 'POST /rest/com/vmware/cis/session'
const list = 'POST /rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags'
const vm = toRef('VirtualMachine', 'vm-1')
const tag = 'urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL'
const json = (value: unknown, status = 200): Said => ({ status, body: JSON.stringify(value) })

type Answers = (asked: Asked, past: readonly Asked[]) => Said | undefined

async function aVCenter(answers: Answers = () => undefined) {
  const server = await startScriptedVCenter((asked, past) => {
    if (!asked.method.includes('/rest/')) return usual(asked, past)
    return answers(asked, past) ?? json({ value: asked.method === session ? 'id-1' : [tag] })
  })
  ends.push(() => server.close())
  const { url, ca } = server
  const options = { url, ca, userName: 'reader', password, clock: new VirtualClock(), random: () => 0 }
  const client = await connectVSphere(options)
  ends.push(() => client.close())
  const rest = () => server.asked.filter(({ method }) => method.includes('/rest/'))
  return { client, rest, host: new URL(url).host }
}

const sessionOf = ({ headers }: Asked) => headers['vmware-api-session-id']

describe('a session of the REST API', () => {
  test('begins with the first call, once for calls that come together, and ends with the client', async () => {
    const { client, rest } = await aVCenter()
    expect(rest()).toEqual([])
    await Promise.all([attachedTags(client, vm), attachedTags(client, vm)])
    expect(rest().map(({ method }) => method)).toEqual([session, list, list])
    const [login, asked] = rest()
    expect(login?.headers.authorization).toBe(`Basic ${Buffer.from('reader:hunter2').toString('base64')}`)
    expect(asked?.headers.authorization).toBeUndefined()
    expect(asked && sessionOf(asked)).toBe('id-1')
    expect(asked?.body).toBe('{"object_id":{"type":"VirtualMachine","id":"vm-1"}}')
    await client.close()
    expect(rest().at(-1)?.method).toBe('DELETE /rest/com/vmware/cis/session')
  })

  test('that has ended is begun again, and the call repeated', async () => {
    let begun = 0
    const { client, rest } = await aVCenter(asked => {
      if (asked.method === session) return json({ value: `id-${++begun}` })
      return sessionOf(asked) === 'id-1' ? { status: 401, body: '' } : undefined
    })
    expect(await attachedTags(client, vm)).toEqual([tag])
    expect(await attachedTags(client, vm)).toEqual([tag])
    expect(rest().map(({ method }) => method)).toEqual([session, list, session, list, list])
  })

  test('that a server never accepts ends with a fault, not in a circle', async () => {
    const { client, rest } = await aVCenter(({ method }) =>
      method === session ? undefined : { status: 401, body: '' },
    )
    await expect(attachedTags(client, vm)).rejects.toThrow('HTTP 401')
    expect(rest()).toHaveLength(4)
  })

  test('is refused with host and user, never the password, and is tried again only by the next call', async () => {
    let isRefused = true
    const { client, rest, host } = await aVCenter(({ method }) =>
      method === session && isRefused ? { status: 401, body: '' } : undefined,
    )
    const message = `${host} refuses the user "reader": check user name and password`
    await expect(attachedTags(client, vm)).rejects.toMatchObject({ fault: 'InvalidLogin', message })
    expect(rest()).toHaveLength(1)
    isRefused = false
    expect(await attachedTags(client, vm)).toEqual([tag])
  })
})

describe('an answer of the REST API', () => {
  test.each<[string, Said, RegExp]>([
    [
      'a fault',
      json(
        { type: 'com.vmware.vapi.std.errors.unauthorized', value: { messages: [{ default_message: 'No way' }] } },
        403,
      ),
      /^POST \/tagging\/.* at .*: No way \(unauthorized\)$/,
    ],
    ['a fault without a word', { status: 500, body: '<html>' }, /HTTP 500/],
    ['no JSON', { body: 'hello' }, /is not JSON as a vCenter writes it/],
    ['no list', json({ value: { a: 1 } }), /does not answer which tags vm-1 has/],
    ['a flood', { body: ' '.repeat(restCharsMax + 1) }, /longer than \d+ bytes/],
  ])('that is %s is told by an error', async (_, said, message) => {
    const { client } = await aVCenter(({ method }) => (method === list ? said : undefined))
    await expect(attachedTags(client, vm)).rejects.toThrow(message)
  })

  test.each([
    ['of a host by itself, which has none', { status: 404, body: '' }],
    ['with a session that is no header', json({ value: 'a\r\nb: c' })],
  ])('%s is no answer of a vCenter', async (_, said) => {
    const { client } = await aVCenter(({ method }) => (method === session ? said : undefined))
    await expect(attachedTags(client, vm)).rejects.toThrow(
      /no answer of a vCenter, but HTTP \d+: only a vCenter has tags/,
    )
  })
})

describe('a tag', () => {
  test('that is not there is named by its field', async () => {
    const { client, host } = await aVCenter(({ method }) =>
      method.endsWith('b:GLOBAL') ? { status: 404, body: '404 page not found' } : undefined,
    )
    await expect(findTags(client, [tag])).resolves.toBeUndefined()
    await expect(findTags(client, [tag, 'b:GLOBAL'])).rejects.toMatchObject({
      name: 'NotInInventory',
      message: `tagIDs[1] names "b:GLOBAL", and there is no such tag at ${host}`,
    })
  })

  test('that cannot be attached is told with the reason of the server', async () => {
    const { client } = await aVCenter(({ method }) =>
      method.includes('attach-multiple')
        ? json({
            value: { success: false, error_messages: [{ id: 'x', default_message: 'one of its category is there' }] },
          })
        : undefined,
    )
    await expect(attachTags(client, vm, [tag])).rejects.toThrow(`${tag}: one of its category is there`)
  })

  test('is called by its id', () => {
    expect(isTagID(tag)).toBe(true)
    for (const text of ['', 'production', tag.replace('Tag', 'Category'), `${tag}/..`, ` ${tag}`]) {
      expect(isTagID(text), text).toBe(false)
    }
  })
})

test('a machine without tags may be answered without a list', async () => {
  const { client } = await aVCenter(({ method }) => (method === list ? json({}) : undefined))
  expect(await attachedTags(client, vm)).toEqual([])
})
