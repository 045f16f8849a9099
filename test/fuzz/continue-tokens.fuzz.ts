// A token is a place in an order, and the path says of what: it never leads to another kind or namespace.

import { type API, startAPI } from './api.ts'
import { type FuzzTarget, must, mustBeReadable } from './target.ts'

let api: API

const forged = (token: object): string => Buffer.from(JSON.stringify(token)).toString('base64url')
const v = 'meta.k8s.io/v1'

const dictionary = [
  '../',
  '/',
  '\\u0000',
  '"rv":',
  '"start":',
  '-1',
  '0',
  '999999999',
  '"',
  'two/',
  'secrets/',
  '{',
  '}',
]

export const continueTokens: FuzzTarget = {
  name: 'continue tokens',
  // What is not marked with "=" is encoded before it is sent: the interesting part is inside.
  corpus: [
    JSON.stringify({ v, rv: -1, start: 'one-2\u0000' }),
    JSON.stringify({ v, rv: 30, start: '../two/\u0000' }),
    JSON.stringify({ v, rv: 1, start: 'one-1/../../secrets/two/' }),
    JSON.stringify({ v, rv: 1e15, start: 'one-1' }),
    JSON.stringify({ v: { toString: 1 }, rv: -1, start: '\uffff' }),
    JSON.stringify({ v, rv: -1, start: ['one-1'] }),
    `=${forged({ v, rv: -1, start: 'one-2\u0000' })}`,
    '=!!!!',
    '=%00',
    'null',
    '[1]',
  ],
  dictionary,
  async run(input) {
    const text = input.toString('utf8')
    const token = text.startsWith('=') ? text.slice(1) : input.toString('base64url')
    const query = `limit=2&continue=${encodeURIComponent(Buffer.from(token).toString('utf8'))}`
    for (const [path, isAllowed] of pages) {
      const answer = await api.send('GET', `${path}?${query}`)
      must(answer.code === 200 || answer.code === 400 || answer.code === 410, `${answer.code}: ${answer.text}`)
      const { items, message = '', metadata } = JSON.parse(answer.text)
      mustBeReadable(message)
      const names: string[] = (items ?? []).map((item: Item) => `${item.metadata.namespace}/${item.metadata.name}`)
      must(names.length <= 2 && names.every(isAllowed), `${path} has only its own, and no more than asked: ${names}`)
      must([...names].sort().join() === names.join(), 'a page is in order')
      if (answer.code !== 200 || !metadata.continue) continue
      const next = JSON.parse((await api.send('GET', `${path}?limit=9&continue=${metadata.continue}`)).text)
      const later: string[] = next.items.map((item: Item) => `${item.metadata.namespace}/${item.metadata.name}`)
      must(
        later.every(name => !names.includes(name)),
        'the next page begins behind this one',
      )
    }
    must(api.faults.length === 0, `no fault of the server: ${api.faults.splice(0).map(String).join()}`)
  },
  async begin() {
    api = await startAPI()
  },
  end: () => api.stop(),
}

interface Item {
  readonly metadata: { readonly namespace: string; readonly name: string }
}

const pages: readonly (readonly [path: string, isAllowed: (name: string) => boolean])[] = [
  ['/api/v1/namespaces/one/configmaps', name => name.startsWith('one/')],
  ['/api/v1/namespaces/two/secrets', name => name.startsWith('two/')],
]
