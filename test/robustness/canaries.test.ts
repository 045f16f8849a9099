// Secrets that are easy to recognise go in, and every place where one could come out again is searched: what is printed, logged,
// told in events and metrics, answered to a mistake, and shown in the list of processes.

import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { connectWith, mooringRuns, type Process, type Remote, untilReady } from '../harness/mooring.ts'

const canary = 'canary-5b1f7c0e-do-not-sing'
const encoded = Buffer.from(canary).toString('base64')

const { home, start } = mooringRuns('mooring-canary-')

function mooring(...args: string[]): Process {
  return start(args)
}

/** As other users of the machine see it. */
function listed({ child }: Process): string {
  if (process.platform !== 'linux') return ''
  return ['cmdline', 'comm'].map(name => readFileSync(`/proc/${child.pid}/${name}`, 'utf8')).join('\n')
}

function heard(process: Process): string {
  return process.output() + process.complaints()
}

/** What is not to be found anywhere: whole, or the half that a line break would leave. */
function expectSilence(text: string, ...secrets: string[]): void {
  for (const secret of secrets)
    expect(text.includes(secret.slice(0, 24)), `"${secret.slice(0, 8)}..." is told`).toBe(false)
}

/** The texts of keys in a file, without the lines around them. */
function keysIn(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const pems = [...text.matchAll(/PRIVATE KEY-----\n([^-]+)-----END/g)].map(([, body = '']) => body)
  // The first bytes of all such keys are alike.
  return pems.map(body => body.replace(/\n/g, '').slice(60, 100))
}

describe('A Secret', () => {
  async function send(remote: Remote, name: string, data: object): Promise<void> {
    const secrets = '/api/v1/namespaces/default/secrets'
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, ...data }
    await remote.send('POST', secrets, secret)
    // A mistake about it, a conflict with itself, and its end.
    await remote.send('POST', secrets, { ...secret, type: 7, data: { [canary]: 1, key: `${encoded}!` } })
    await remote.send('PUT', `${secrets}/${name}`, { ...secret, metadata: { name, resourceVersion: '1' } })
    await remote.send('DELETE', `${secrets}/${name}`)
  }

  test('is in no line of the log, no event and no figure of a whole life', async () => {
    const data = join(home, 'life')
    const running = mooring('up', '--data', data, ...anywhere, '--log-level', 'debug')
    const { kubeconfig } = await untilReady(running)
    const remote = connectWith(kubeconfig)
    await send(remote, 'plain', { stringData: { password: canary } })
    await send(remote, 'encoded', { data: { password: encoded } })
    const claim = {
      apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
      kind: 'IPAddressClaim',
      metadata: { name: 'waits', namespace: 'default' },
      spec: { poolRef: { apiGroup: 'mooring.dev', kind: 'AddressPool', name: 'none' } },
    }
    await remote.send('POST', '/apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/default/ipaddressclaims', claim)
    const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
    const accounts = '/api/v1/namespaces/default/serviceaccounts/default/token'
    const { token } = (await remote.send('POST', accounts, asked)).body.status as { token: string }
    const figures = await (await fetch(metricsOf(running))).text()
    expect(figures).toContain('mooring_store_objects')
    let events = ''
    while (!events.includes('"waits"')) {
      events = JSON.stringify((await remote.send('GET', '/api/v1/events')).body)
    }
    const shown = listed(running)
    await remote.close()
    running.child.kill('SIGTERM')
    await running.ended
    const signature = token.split('.')[2] ?? ''
    const keys = ['ca', 'server', 'admin', 'service-account'].flatMap(name => keysIn(join(data, 'pki', `${name}.pem`)))
    expect(keys).toHaveLength(4)
    for (const place of [heard(running), figures, events, shown])
      expectSilence(place, canary, encoded, signature, ...keys)
    expect(heard(running)).toContain('a claim waits')
  })
})

const anywhere = ['--listen', '127.0.0.1:0', '--dashboard', '127.0.0.1:0']

function metricsOf(process: Process): string {
  return /^metrics +(.+)$/m.exec(process.output())?.[1] ?? ''
}

describe('A token in a kubeconfig', () => {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user: { token: canary } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }

  test.each([
    ['of a server that is away', stringify(config)],
    ['that is no YAML', `token: ${canary}\n  - [${canary}`],
    ['that is a list', stringify([canary])],
    ['with half a certificate', stringify({ ...config, users: [{ name: 'u', user: { 'client-key-data': encoded } }] })],
    [
      'with a key that is none',
      stringify({
        ...config,
        users: [{ name: 'u', user: { 'client-key-data': encoded, 'client-certificate-data': encoded } }],
      }),
    ],
    [
      'that logs in by a password',
      stringify({ ...config, users: [{ name: 'u', user: { username: 'me', password: canary } }] }),
    ],
  ])('%s is never repeated', async (_, text) => {
    const file = join(home, 'kubeconfig')
    writeFileSync(file, text, { mode: 0o600 })
    const commands = [
      mooring('adopt', '--back', '--kubeconfig', file),
      mooring('controller', '--kubeconfig', file, '--log-level', 'debug', '--webhook-port=0', ...nowhere),
    ]
    for (const process of commands) {
      const { stderr } = process.child
      if (stderr !== null && heard(process) === '') await Promise.race([once(stderr, 'data'), process.ended])
      if (process.child.exitCode === null) process.child.kill('SIGTERM')
      await process.ended
      expect(heard(process)).not.toBe('')
      expectSilence(heard(process), canary, encoded)
    }
  })

  test('is not repeated by a backup that asks the running server with it', async () => {
    const data = join(home, 'asked')
    const running = mooring('up', '--data', data, ...anywhere, '--desks', 'none')
    const { kubeconfig } = await untilReady(running)
    const whole = parse(readFileSync(kubeconfig, 'utf8')) as object
    const file = join(home, 'wrong')
    for (const text of [
      `token: ${canary}\n  - [${canary}`,
      stringify(config),
      stringify({ ...whole, users: config.users }),
    ]) {
      writeFileSync(file, text, { mode: 0o600 })
      const copy = mooring('backup', join(home, 'copy'), '--data', data, '--kubeconfig', file)
      expect((await copy.ended).code, heard(copy)).toBe(3)
      expectSilence(heard(copy), canary, encoded)
    }
  })
})

const nowhere = ['--health-probe-bind-address=0', '--diagnostics-address=0']

test('no flag takes a secret, for the list of processes and the history of a shell would show it', async () => {
  for (const command of ['up', 'controller', 'adopt', 'backup', 'restore']) {
    const help = mooring(command, '--help')
    await help.ended
    const flags = [...help.output().matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag ?? '')
    expect(flags).toContain('--help')
    expect(flags.filter(flag => /token|password|secret|credential|private|key-data/.test(flag))).toEqual([])
  }
})
