import { describe, expect, test } from 'vitest'
import { findConnection, fromKubeconfig, inCluster, type Surroundings } from './kubeconfig.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

function around(files: Record<string, string>, env: Record<string, string> = {}): Surroundings {
  return { env, home: '/people/me', readFile: path => (Object.hasOwn(files, path) ? files[path] : undefined) }
}

function config(user: string, cluster = 'server: https://one.example:6443/\n') {
  const indent = (text: string) => text.trimEnd().replaceAll('\n', '\n    ')
  return `
current-context: main
contexts: [{ name: main, context: { cluster: c, user: u, namespace: lab } }]
clusters:
- name: c
  cluster:
    ${indent(cluster)}
users:
- name: u
  user:
    ${indent(user)}
`
}

const home = '/people/me/.kube/config'

describe('a kubeconfig', () => {
  test('with certificates inside', () => {
    const user = `client-certificate-data: ${base64('CERT')}\nclient-key-data: ${base64('KEY')}`
    const cluster = `server: https://one.example:6443\ncertificate-authority-data: ${base64('CA')}\ntls-server-name: kube`
    expect(fromKubeconfig(around({ [home]: config(user, cluster) }))).toEqual({
      server: 'https://one.example:6443',
      ca: 'CA',
      serverName: 'kube',
      trustsAnyServer: false,
      clientCertificate: { certificate: 'CERT', key: 'KEY' },
      namespace: 'lab',
    })
  })

  test('with files, relative to itself', () => {
    const user = 'client-certificate: pki/me.crt\nclient-key: /keys/me.key\ntokenFile: token\ntoken: older'
    const files = {
      '/etc/kube/config': config(user, 'server: https://one.example\ncertificate-authority: pki/ca.crt'),
      '/etc/kube/pki/me.crt': 'CERT',
      '/keys/me.key': 'KEY',
      '/etc/kube/pki/ca.crt': 'CA',
    }
    expect(fromKubeconfig(around(files), { kubeconfig: '/etc/kube/config' })).toMatchObject({
      ca: 'CA',
      clientCertificate: { certificate: 'CERT', key: 'KEY' },
      token: { kind: 'file', path: '/etc/kube/token' },
    })
  })

  test('of several files: the first that sets a value counts', () => {
    const cluster = 'clusters: [{ name: c, cluster: { server: "https://one.example:6443" } }]'
    const files = { '/a': cluster, '/b': config('token: mine', 'server: https://never.example') }
    const merged = fromKubeconfig(around(files, { KUBECONFIG: '/missing:/a:/b' }))
    expect(merged).toMatchObject({ server: 'https://one.example:6443', token: { kind: 'fixed', token: 'mine' } })
  })

  test.each([
    [
      'exec:\n  command: aws',
      'user "u" logs in by "exec", which is not supported: use a token, a tokenFile or a client certificate instead of running aws',
    ],
    ['auth-provider: { name: gcp }', 'logs in by "auth-provider"'],
    ['username: me\npassword: secret', 'logs in by "username"'],
    ['as: root', 'logs in by "as"'],
    ['client-certificate: none.crt', 'client-certificate names none.crt, which cannot be read'],
    [`client-certificate-data: ${base64('CERT')}`, 'has a client certificate or a key, but not both'],
  ])('that we cannot follow is refused by name: %s', (user, message) => {
    expect(() => fromKubeconfig(around({ [home]: config(user) }))).toThrow(message)
  })

  test('that may not be read says so, and which file it is', () => {
    const readFile = () => {
      throw Object.assign(new Error('permission denied'), { code: 'EACCES' })
    }
    const choice = { kubeconfig: '/theirs' }
    expect(() => fromKubeconfig({ ...around({}), readFile }, choice)).toThrow('/theirs cannot be read (EACCES)')
  })

  test.each([
    ['{}', 'no current-context is set'],
    ['current-context: x', 'has no context named "x"'],
    ['[1', 'is no YAML'],
    ['- 1', 'is no kubeconfig'],
    [config('token: x', 'proxy-url: http://p\nserver: https://one.example'), 'proxy-url is not supported'],
    [config('token: x', 'server: unix:///x'), 'is no http or https address'],
    [config('token: x', 'certificate-authority-data: eA=='), 'has no server'],
  ])('that makes no sense fails with a sentence: %s', (content, message) => {
    expect(() => fromKubeconfig(around({ [home]: content }))).toThrow(message)
  })

  test('that is not there fails with the paths where it was looked for', () => {
    expect(() => fromKubeconfig(around({}))).toThrow(`looked for ${home}`)
    expect(() => fromKubeconfig(around({}), { kubeconfig: '/named' })).toThrow('/named does not exist')
  })
})

describe('in a pod', () => {
  const account = '/var/run/secrets/kubernetes.io/serviceaccount'
  const files = { [`${account}/token`]: 'T', [`${account}/ca.crt`]: 'CA', [`${account}/namespace`]: 'mooring-system\n' }
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }

  test('we are its service account, with a token that is read again', () => {
    expect(inCluster(around(files, env))).toEqual({
      server: 'https://[fd00::1]:443',
      ca: 'CA',
      trustsAnyServer: false,
      token: { kind: 'file', path: `${account}/token` },
      namespace: 'mooring-system',
    })
  })

  test('a file that was named comes first, a file that lies about does not', () => {
    const all = around({ ...files, [home]: config('token: x'), '/named': config('token: y') }, env)
    expect(findConnection(all).server).toBe('https://[fd00::1]:443')
    expect(findConnection(all, { kubeconfig: '/named' }).server).toBe('https://one.example:6443')
    expect(findConnection(around({ [home]: config('token: x') })).server).toBe('https://one.example:6443')
  })
})
