// Headers: no header but a good token makes a client more than anonymous, an identity that is put on is allowed in each of
// its parts, and no answer has a header that cannot be sent.

import { impersonate } from '../../src/apiserver/authn/impersonate.ts'
import { parseServiceAccountUser } from '../../src/apiserver/authn/user.ts'
import { StatusError } from '../../src/apiserver/status.ts'
import { type API, startAPI } from './api.ts'
import { type FuzzTarget, must, unlessRefused } from './target.ts'

let api: API

type Headers = Record<string, string[]>

/** `name: value` on each line. What a parser of HTTP refuses does not come so far. */
function headersIn(text: string): Headers {
  const headers: Headers = {}
  for (const line of text.split('\n')) {
    const [, name, value = ''] = /^([-\w!#$%&'*+.^`|~]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? []
    if (name === undefined || name === '__proto__') continue
    const key = name.toLowerCase()
    headers[key] = [...(Object.hasOwn(headers, key) ? (headers[key] ?? []) : []), value.trim()]
  }
  return headers
}

const user = { username: 'ann', groups: ['system:authenticated'] }

/** Ann may be any user and group whose name begins with "may". */
function mustBeAllowed(headers: Headers): void {
  const asked: string[] = []
  const isAllowed = (name: string) => name.startsWith('may')
  const became = unlessRefused(
    () =>
      impersonate(user, headers, (_, attributes) => {
        const name = attributes.type === 'resource' ? attributes.name : ''
        asked.push(name)
        return { allowed: isAllowed(name), reason: '' }
      }),
    StatusError,
  )
  if (became === undefined || became === user) return
  must(asked.every(isAllowed), 'each part is asked about, and one that is refused refuses all')
  const implied = ['system:authenticated', 'system:unauthenticated', 'system:serviceaccounts']
  // Of a service account its own name is asked about, in its namespace.
  const username = parseServiceAccountUser(became.username)?.name ?? became.username
  const parts = [username, became.uid ?? 'may', ...Object.values(became.extra ?? {}).flat()]
  const groups = became.groups.filter(group => !implied.some(known => group.startsWith(known)))
  must([...parts, ...groups].every(isAllowed), `what it became was allowed: ${JSON.stringify(became)}`)
  must(Object.getPrototypeOf(became.extra ?? {}) === Object.prototype, 'no prototype is changed')
}

export const headers: FuzzTarget = {
  name: 'headers',
  corpus: [
    'impersonate-user: maya\nimpersonate-group: mayors\nimpersonate-group: system:masters',
    'impersonate-user: system:serviceaccount:one:default\nimpersonate-uid: may-1',
    'impersonate-user: maya\nimpersonate-extra-%61b: may\nimpersonate-extra-__proto__: may',
    'impersonate-group: mayors',
    'impersonate-user: system:serviceaccount:one:maydefault',
    'x-remote-user: admin\nx-remote-group: system:masters\nx-remote-extra-a: b',
    'host: kubernetes.default\nforwarded: for=127.0.0.1;proto=https\nx-forwarded-for: 127.0.0.1',
    'authorization: Bearer a.b.c\nauthorization: Basic YWRtaW46YWRtaW4=\ncookie: token=a',
    'accept: application/json;as=Table;g=meta.k8s.io;v=v1\naccept-encoding: gzip\naudit-id: \x80\xff',
    'user-agent: \x85\u00a0\ncontent-type: application/yaml\norigin: null',
  ],
  dictionary: ['impersonate-', 'user', 'group', 'uid', 'extra-', ': ', '\n', 'system:masters', 'may', '%2f', '%', ','],
  async run(input) {
    const sent = headersIn(input.toString('latin1'))
    mustBeAllowed(sent)
    for (const target of ['/api/v1/namespaces/one/secrets', '/api/v1/namespaces/one/secrets/one-1']) {
      const { code, headers, text } = await api.send('GET', target, { headers: sent, isAnonymous: true })
      must(code === 400 || code === 401 || code === 403 || code === 406, `no secret without a token: ${code} ${text}`)
      mustBeSendable(headers)
    }
    const body = JSON.stringify({ metadata: { name: 'one-1' }, [input.toString('utf8')]: { '\u202e\n"': 1 } })
    const answer = await api.send('PUT', '/api/v1/namespaces/one/configmaps/one-1', { body })
    must(answer.code < 500, answer.text)
    mustBeSendable(answer.headers)
    must(api.faults.length === 0, `no fault of the server: ${api.faults.splice(0).map(String).join()}`)
  },
  async begin() {
    api = await startAPI()
  },
  end: () => api.stop(),
}

function mustBeSendable(headers: Readonly<Record<string, string | readonly string[]>>): void {
  for (const [name, values] of Object.entries(headers)) {
    for (const value of [values].flat()) {
      must(/^[\t\x20-\x7e\x80-\xff]*$/.test(value), `the header ${name} can be sent: ${JSON.stringify(value)}`)
    }
  }
}
