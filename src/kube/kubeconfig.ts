// Where the API server is, which authority to trust and which user to be: from the files kubectl reads, or from what a pod is
// given. What we cannot do is refused by name before the first request, never ignored: a field that is skipped silently is a
// connection as another user, or to another server.

import { createRequire } from 'node:module'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import type * as YAML from 'yaml'
import { JSONSyntaxError, parseJSON } from '../json.ts'

export interface Connection {
  /** `https://127.0.0.1:7443`, perhaps with a path. */
  readonly server: string
  /** PEM; without it the system's authorities are trusted. */
  readonly ca?: string
  /** Only when the file says so in plain words. */
  readonly trustsAnyServer: boolean
  /** The name in the server's certificate, when it is not the host's. */
  readonly serverName?: string
  readonly clientCertificate?: { readonly certificate: string; readonly key: string }
  readonly token?: TokenSource
  /** The namespace of the context, or of the pod. */
  readonly namespace: string
}

export type TokenSource =
  | { readonly kind: 'fixed'; readonly token: string }
  /** Rotated by another process: read again and again. */
  | { readonly kind: 'file'; readonly path: string }

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  /** The text of a file; undefined when there is none. */
  readonly readFile: (path: string) => string | undefined
}

export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError'
}

export interface ConnectionChoice {
  /** One file instead of KUBECONFIG and `~/.kube/config`. */
  readonly kubeconfig?: string
  readonly context?: string
}

/** A file that was named, else the pod's own account, else the files kubectl would read. */
export function findConnection(surroundings: Surroundings, choice: ConnectionChoice = {}): Connection {
  const { env } = surroundings
  const wantsFile = choice.kubeconfig !== undefined || choice.context !== undefined || Boolean(env.KUBECONFIG)
  if (!wantsFile) {
    const own = inCluster(surroundings)
    if (own !== undefined) return own
  }
  return fromKubeconfig(surroundings, choice)
}

const account = '/var/run/secrets/kubernetes.io/serviceaccount'

/** What a pod is given; undefined outside of one. */
export function inCluster({ env, readFile }: Surroundings): Connection | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (!host || !port || readFile(`${account}/token`) === undefined) return undefined
  const ca = readFile(`${account}/ca.crt`)
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ...(ca !== undefined && { ca }),
    trustsAnyServer: false,
    token: { kind: 'file', path: `${account}/token` },
    namespace: readFile(`${account}/namespace`)?.trim() || 'default',
  }
}

type Fields = Readonly<Record<string, unknown>>

interface Entry {
  readonly fields: Fields
  /** Relative paths are relative to the file they stand in. */
  readonly directory: string
}

interface Merged {
  readonly clusters: Map<string, Entry>
  readonly users: Map<string, Entry>
  readonly contexts: Map<string, Entry>
  currentContext: string
}

export function fromKubeconfig(surroundings: Surroundings, choice: ConnectionChoice = {}): Connection {
  const paths = pathsOf(surroundings, choice)
  const merged = merge(surroundings, paths, choice.kubeconfig !== undefined)
  const name = choice.context ?? merged.currentContext
  if (name === '') throw new KubeconfigError(`no current-context is set in ${paths.join(', ')}`)
  const context = need(merged.contexts, 'context', name).fields
  const cluster = need(merged.clusters, 'cluster', text(context, 'cluster') ?? '')
  const user = text(context, 'user')
  return {
    ...toCluster(surroundings, cluster),
    ...(user !== undefined && user !== '' && toUser(surroundings, need(merged.users, 'user', user), user)),
    namespace: text(context, 'namespace') || 'default',
  }
}

function pathsOf({ env, home }: Surroundings, { kubeconfig }: ConnectionChoice): string[] {
  if (kubeconfig !== undefined) return [resolve(kubeconfig)]
  const listed = (env.KUBECONFIG ?? '').split(process.platform === 'win32' ? ';' : ':').filter(path => path !== '')
  return listed.length > 0 ? listed.map(path => resolve(path)) : [join(home, '.kube', 'config')]
}

/** Of several files the first that sets a value counts, as in kubectl. */
function merge({ readFile }: Surroundings, paths: readonly string[], mustExist: boolean): Merged {
  const merged: Merged = { clusters: new Map(), users: new Map(), contexts: new Map(), currentContext: '' }
  let found = 0
  for (const path of paths) {
    const content = readOrSay(readFile, path)
    if (content === undefined) {
      if (mustExist) throw new KubeconfigError(`${path} does not exist`)
      continue
    }
    found++
    const config = parseFile(path, content)
    const directory = dirname(path)
    keep(merged.clusters, config.clusters, 'cluster', directory)
    keep(merged.users, config.users, 'user', directory)
    keep(merged.contexts, config.contexts, 'context', directory)
    merged.currentContext ||= text(config, 'current-context') ?? ''
  }
  if (found === 0) throw new KubeconfigError(`there is no kubeconfig: looked for ${paths.join(', ')}`)
  return merged
}

function readOrSay(readFile: Surroundings['readFile'], path: string): string | undefined {
  try {
    return readFile(path)
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
    throw new KubeconfigError(`${path} cannot be read${why}`, { cause })
  }
}

/** The parser of YAML is large, and a process that was given JSON, or the account of its pod, does without it. */
function parseJSONOrYAML(content: string): unknown {
  try {
    const { value, duplicates } = parseJSON(content)
    if (duplicates.length === 0) return value
  } catch (error) {
    if (!(error instanceof JSONSyntaxError)) throw error
  }
  const yaml = createRequire(import.meta.url)('yaml') as typeof YAML
  return yaml.parse(content)
}

function parseFile(path: string, content: string): Fields {
  let value: unknown
  try {
    value = parseJSONOrYAML(content)
  } catch (error) {
    throw new KubeconfigError(`${path} is no YAML`, { cause: error })
  }
  if (value === null || value === undefined) return {}
  if (typeof value !== 'object' || Array.isArray(value)) throw new KubeconfigError(`${path} is no kubeconfig`)
  return value as Fields
}

function keep(into: Map<string, Entry>, list: unknown, field: string, directory: string): void {
  if (!Array.isArray(list)) return
  for (const item of list as Fields[]) {
    const name = text(item ?? {}, 'name')
    if (name === undefined || into.has(name)) continue
    into.set(name, { fields: (item[field] ?? {}) as Fields, directory })
  }
}

function need(entries: Map<string, Entry>, what: string, name: string): Entry {
  const entry = entries.get(name)
  if (entry === undefined) throw new KubeconfigError(`the kubeconfig has no ${what} named "${name}"`)
  return entry
}

function toCluster(surroundings: Surroundings, cluster: Entry): Omit<Connection, 'namespace'> {
  const { fields } = cluster
  const server = text(fields, 'server')
  if (!server) throw new KubeconfigError('the cluster of this context has no server')
  if (!/^https?:\/\//.test(server)) throw new KubeconfigError(`the server "${server}" is no http or https address`)
  if (text(fields, 'proxy-url')) throw new KubeconfigError('proxy-url is not supported')
  const ca = dataOrFile(surroundings, cluster, 'certificate-authority')
  const serverName = text(fields, 'tls-server-name')
  return {
    server: server.replace(/\/+$/, ''),
    ...(ca !== undefined && { ca }),
    trustsAnyServer: fields['insecure-skip-tls-verify'] === true,
    ...(serverName !== undefined && serverName !== '' && { serverName }),
  }
}

function toUser(
  surroundings: Surroundings,
  user: Entry,
  name: string,
): Pick<Connection, 'clientCertificate' | 'token'> {
  const { fields, directory } = user
  for (const field of ['exec', 'auth-provider', 'username', 'as', 'as-uid', 'as-groups', 'as-user-extra']) {
    if (fields[field] === undefined) continue
    throw new KubeconfigError(
      `user "${name}" logs in by "${field}", which is not supported: ${insteadOf(fields, field)}`,
    )
  }
  const certificate = dataOrFile(surroundings, user, 'client-certificate')
  const key = dataOrFile(surroundings, user, 'client-key')
  if ((certificate === undefined) !== (key === undefined)) {
    throw new KubeconfigError(`user "${name}" has a client certificate or a key, but not both`)
  }
  const tokenFile = text(fields, 'tokenFile')
  const token = text(fields, 'token')
  return {
    ...(certificate !== undefined && key !== undefined && { clientCertificate: { certificate, key } }),
    ...(token && { token: { kind: 'fixed', token } as const }),
    // A file is preferred to the text beside it, as kubectl does.
    ...(tokenFile && { token: { kind: 'file', path: absolute(directory, tokenFile) } as const }),
  }
}

function insteadOf(fields: Fields, field: string): string {
  const { command } = (field === 'exec' ? fields.exec : {}) as { command?: unknown }
  const run = typeof command === 'string' ? ` instead of running ${command}` : ''
  return `use a token, a tokenFile or a client certificate${run}`
}

function dataOrFile({ readFile }: Surroundings, { fields, directory }: Entry, field: string): string | undefined {
  const data = text(fields, `${field}-data`)
  if (data) return Buffer.from(data, 'base64').toString('utf8')
  const path = text(fields, field)
  if (!path) return undefined
  const content = readFile(absolute(directory, path))
  if (content === undefined) throw new KubeconfigError(`${field} names ${path}, which cannot be read`)
  return content
}

function absolute(directory: string, path: string): string {
  return isAbsolute(path) ? path : join(directory, path)
}

function text(fields: Fields, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  return typeof value === 'string' ? value : undefined
}
