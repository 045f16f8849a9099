// A real etcd, kube-apiserver and kube-controller-manager on loopback ports the kernel chose, with all their data in
// one scratch directory. There are no nodes: it is the API and its housekeeping, which is what tests compare with.
// A cluster the environment already names (MOORING_TEST_KUBECONFIG) is used instead, and never stopped.

import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { binary } from './binaries.ts'
import { createAuthority, issue } from './certificate.ts'

export interface ClusterOptions {
  /** Holds data, keys and logs. */
  readonly dir: string
  /** Where the admin's kubeconfig goes; by default `<dir>/kubeconfig`. */
  readonly kubeconfig?: string
  /** The processes outlive this one; `stopDetached` ends them. */
  readonly detached?: boolean
  readonly apiserverArgs?: readonly string[]
  /** Without them there is no garbage collection, and nothing but the API to measure. */
  readonly withControllers?: boolean
  readonly controllerManagerArgs?: readonly string[]
  readonly say?: (line: string) => void
}

export interface Cluster {
  readonly kubeconfig: string
  readonly url: string
  /** Where its etcd answers; empty for a cluster that is not ours. */
  readonly etcdURL: string
  /** Milliseconds from the start of etcd until the API was ready. */
  readonly readyAfterMs: number
  /** Process ids by program name; empty for a cluster that is not ours. */
  readonly pids: Readonly<Record<string, number>>
  stop(): Promise<void>
}

const readyWithinMs = 90_000

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const given = process.env.MOORING_TEST_KUBECONFIG
  if (given) return { kubeconfig: given, url: '', etcdURL: '', readyAfterMs: 0, pids: {}, stop: async () => {} }

  const programs = {
    etcd: await binary('etcd', options.say),
    apiserver: await binary('kube-apiserver', options.say),
    controllerManager: await binary('kube-controller-manager', options.say),
  }
  const dir = resolve(options.dir)
  mkdirSync(dir, { recursive: true })
  const kubeconfig = resolve(options.kubeconfig ?? join(dir, 'kubeconfig'))
  const [clientPort, peerPort, securePort] = await freePorts(3)
  const etcdURL = `http://127.0.0.1:${clientPort}`
  const peerURL = `http://127.0.0.1:${peerPort}`
  const url = `https://127.0.0.1:${securePort}`
  const files = writeKeys(dir)
  const started: Started[] = []
  const run = (name: string, program: string, args: string[]): Started => {
    const one = start(name, program, args, dir, options.detached ?? false)
    started.push(one)
    return one
  }
  const stop = async (): Promise<void> => {
    for (const one of started.toReversed()) await end(one)
  }

  const startControllers = async (needed: Started[]): Promise<void> => {
    const controllerManager = run('kube-controller-manager', programs.controllerManager, [
      `--kubeconfig=${kubeconfig}`,
      `--service-account-private-key-file=${files.serviceAccountKey}`,
      '--use-service-account-credentials=false',
      '--leader-elect=false',
      '--secure-port=0',
      // Nodes made by hand have no kubelet to keep their leases fresh.
      '--controllers=*,-node-lifecycle-controller,-taint-eviction-controller',
      ...(options.controllerManagerArgs ?? []),
    ])
    await until('the controllers work', [...needed, controllerManager], () =>
      answersOk(
        `${url}/api/v1/namespaces/default/serviceaccounts/default`,
        readFileSync(join(dir, 'serving', 'apiserver.crt'), 'utf8'),
        files.adminToken,
      ),
    )
  }

  const startedMs = performance.now()
  try {
    const etcd = run('etcd', programs.etcd, [
      '--name=default',
      `--data-dir=${join(dir, 'etcd')}`,
      `--listen-client-urls=${etcdURL}`,
      `--advertise-client-urls=${etcdURL}`,
      `--listen-peer-urls=${peerURL}`,
      `--initial-advertise-peer-urls=${peerURL}`,
      `--initial-cluster=default=${peerURL}`,
      '--log-level=error',
    ])
    const apiserver = run('kube-apiserver', programs.apiserver, [
      `--etcd-servers=${etcdURL}`,
      `--secure-port=${securePort}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--cert-dir=${join(dir, 'serving')}`,
      `--service-account-key-file=${files.serviceAccountPublicKey}`,
      `--service-account-signing-key-file=${files.serviceAccountKey}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--token-auth-file=${files.tokens}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.96.0.0/16',
      `--client-ca-file=${files.clientAuthority}`,
      `--requestheader-client-ca-file=${files.proxyAuthority}`,
      '--requestheader-allowed-names=front-proxy-client',
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
      `--proxy-client-cert-file=${files.proxyCertificate}`,
      `--proxy-client-key-file=${files.proxyKey}`,
      ...(options.apiserverArgs ?? []),
    ])
    await until('kube-apiserver is ready', [etcd, apiserver], async () => {
      const authority = join(dir, 'serving', 'apiserver.crt')
      if (!existsSync(authority)) return false
      return answersReady(url, readFileSync(authority, 'utf8'), files.adminToken)
    })
    const readyAfterMs = performance.now() - startedMs
    mkdirSync(dirname(kubeconfig), { recursive: true })
    const authority = readFileSync(join(dir, 'serving', 'apiserver.crt'))
    writeFileSync(kubeconfig, adminKubeconfig(url, authority, files.adminToken), { mode: 0o600 })

    if (options.withControllers ?? true) await startControllers([etcd, apiserver])
    const pids: Record<string, number> = {}
    for (const one of started) if (one.child.pid !== undefined) pids[one.name] = one.child.pid
    if (options.detached) for (const one of started) one.child.unref()
    return { kubeconfig, url, etcdURL, readyAfterMs, pids, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Ends processes of a detached cluster by the ids that were written down for them. */
export async function stopDetached(pids: Readonly<Record<string, number>>): Promise<void> {
  for (const pid of Object.values(pids).toReversed()) {
    signal(pid, 'SIGTERM')
    const deadline = Date.now() + 10_000
    while (isAlive(pid) && Date.now() < deadline) await delay(50)
    if (isAlive(pid)) signal(pid, 'SIGKILL')
  }
}

interface Started {
  readonly name: string
  readonly child: ChildProcess
  readonly log: string
}

function start(name: string, program: string, args: string[], dir: string, detached: boolean): Started {
  const log = join(dir, `${name}.log`)
  const out = openSync(log, 'a')
  const child = spawn(program, args, { cwd: dir, stdio: ['ignore', out, out], detached })
  return { name, child, log }
}

async function end({ child }: Started): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = new Promise<void>(done => child.once('exit', () => done()))
  child.kill('SIGTERM')
  // kube-apiserver waits for open watches; a scratch cluster need not.
  const force = setTimeout(() => child.kill('SIGKILL'), 3_000)
  await exited
  clearTimeout(force)
}

async function until(what: string, needed: Started[], holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + readyWithinMs
  while (Date.now() < deadline) {
    for (const { name, child, log } of needed) {
      if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${lastLines(log)}`)
    }
    if (await holds()) return
    await delay(100)
  }
  throw new Error(`waited ${readyWithinMs / 1000} s until ${what}, in vain:\n${lastLines(needed.at(-1)?.log ?? '')}`)
}

function lastLines(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').slice(-15).join('\n') : ''
}

function answersReady(url: string, ca: string, token: string): Promise<boolean> {
  return answersOk(`${url}/readyz`, ca, token)
}

async function answersOk(url: string, ca: string, token: string): Promise<boolean> {
  const dispatcher = new Agent({ connect: { ca } })
  try {
    const { statusCode, body } = await request(url, { dispatcher, headers: { authorization: `Bearer ${token}` } })
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  } finally {
    await dispatcher.close()
  }
}

function writeKeys(dir: string) {
  const keep = (name: string, content: string | Buffer): string => {
    const path = join(dir, name)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
  const serviceAccount = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const clientAuthority = createAuthority('mooring-test-clients')
  const proxyAuthority = createAuthority('mooring-test-front-proxy')
  const proxy = issue(proxyAuthority, { commonName: 'front-proxy-client' })
  const adminToken = randomBytes(16).toString('hex')
  return {
    adminToken,
    serviceAccountKey: keep('sa.key', serviceAccount.privateKey.export({ type: 'pkcs8', format: 'pem' })),
    serviceAccountPublicKey: keep('sa.pub', serviceAccount.publicKey.export({ type: 'spki', format: 'pem' })),
    tokens: keep('tokens.csv', `${adminToken},admin,admin,system:masters\n`),
    clientAuthority: keep('client-ca.crt', clientAuthority.cert),
    clientAuthorityKey: keep('client-ca.key', clientAuthority.key),
    proxyAuthority: keep('front-proxy-ca.crt', proxyAuthority.cert),
    proxyCertificate: keep('front-proxy-client.crt', proxy.cert),
    proxyKey: keep('front-proxy-client.key', proxy.key),
  }
}

function adminKubeconfig(server: string, authority: Buffer, token: string): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'real',
    clusters: [{ name: 'real', cluster: { server, 'certificate-authority-data': authority.toString('base64') } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'real', context: { cluster: 'real', user: 'admin', namespace: 'default' } }],
  }
  // JSON is YAML.
  return `${JSON.stringify(config, null, 2)}\n`
}

/** Ports that were free a moment ago; all are held at once while choosing, so they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports = await Promise.all(
    servers.map(
      server =>
        new Promise<number>((done, fail) => {
          server.once('error', fail)
          server.listen(0, '127.0.0.1', () => {
            const address = server.address()
            done(typeof address === 'object' && address ? address.port : 0)
          })
        }),
    ),
  )
  await Promise.all(servers.map(server => new Promise<void>(done => server.close(() => done()))))
  return ports
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // Already gone, which is what was wanted.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
