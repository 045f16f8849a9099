// What every conformance test uses: the server under test, a namespace or a kind of its own, and waiting where the
// server promises something only for later. Names are unique, so that tests run side by side and again and again.

import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { inject, test } from 'vitest'
import { type Answer, type Body, type Client, connect } from './client.ts'
import { skips } from './skips.ts'

const { name: serverName, kubeconfig } = inject('server')

export const server: Client = connect(kubeconfig)

// While a server is being worked on, a shorter wait tells sooner what it does not do at all.
const patienceMs = Number(process.env.MOORING_CONFORMANCE_PATIENCE ?? 90_000)

/** One behaviour that every server under test has; see `skips.ts` for the ones that one of them cannot have. */
export function conforms(name: string, check: () => Promise<void>): void {
  const skip = skips.find(one => one.name === name && one.server === serverName)
  if (skip) {
    test.skip(name, check)
    return
  }
  test(name, check)
}

export function unique(prefix: string): string {
  return `${prefix}-${randomBytes(4).toString('hex')}`
}

export const made: string[] = []

/** A fresh namespace; answers its name. */
export async function namespace(labels: Record<string, string> = {}): Promise<string> {
  const name = unique('conf')
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
  ok(await server.create('/api/v1/namespaces', body))
  made.push(`/api/v1/namespaces/${name}`)
  return name
}

/** A namespace in which pods may be created: they need its default service account. */
export async function namespaceForPods(): Promise<string> {
  const name = await namespace()
  await eventually(async () => ok(await server.get(`/api/v1/namespaces/${name}/serviceaccounts/default`)))
  return name
}

/** The answer's body, if it is a success; tests use it for the steps they are not about. */
export function ok(answer: Answer): Body {
  if (answer.code < 200 || answer.code > 299) throw new Error(`expected success, got ${answer.code}: ${answer.text}`)
  return answer.body
}

/** Repeats a check until it holds. */
export async function eventually<T>(check: () => Promise<T> | T, withinMs = patienceMs): Promise<T> {
  const deadline = Date.now() + Math.min(withinMs, patienceMs * 2)
  let pauseMs = 10
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
    await delay(pauseMs)
    pauseMs = Math.min(pauseMs * 1.5, 250)
  }
}

export interface Config {
  metadata: Record<string, unknown>
  data?: Record<string, string>
  [field: string]: unknown
}

export function configMap(name: string, data: Record<string, string> = {}, metadata: object = {}): Config {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data }
}

export const configMaps = (ns: string): string => `/api/v1/namespaces/${ns}/configmaps`

export interface KindOptions {
  readonly scope?: 'Namespaced' | 'Cluster'
  /** Schema of the whole object. */
  readonly schema?: object
  readonly subresources?: object
  readonly columns?: object[]
  readonly selectableFields?: object[]
  /** Whole version entries, instead of one called v1. */
  readonly versions?: object[]
  readonly names?: object
  readonly extra?: object
}

export interface CustomKind {
  readonly group: string
  readonly plural: string
  readonly kind: string
  readonly crdName: string
  readonly crdPath: string
  readonly apiVersion: string
  /** Collection path; without a namespace for a kind of cluster scope. */
  at(ns?: string, version?: string): string
  object(name: string, fields?: object, metadata?: object): Config
}

export const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

export function crdFor(options: KindOptions = {}): { crd: Config; kind: CustomKind } {
  const word = randomBytes(4).toString('hex')
  const group = `g${word}.example.com`
  const plural = 'widgets'
  const crdName = `${plural}.${group}`
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: options.schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    ...(options.subresources && { subresources: options.subresources }),
    ...(options.columns && { additionalPrinterColumns: options.columns }),
    ...(options.selectableFields && { selectableFields: options.selectableFields }),
  }
  const scope = options.scope ?? 'Namespaced'
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: crdName },
    spec: {
      group,
      scope,
      names: { plural, singular: 'widget', kind: 'Widget', listKind: 'WidgetList', ...options.names },
      versions: options.versions ?? [version],
      ...options.extra,
    },
  }
  const kind: CustomKind = {
    group,
    plural,
    kind: 'Widget',
    crdName,
    crdPath: `${crds}/${crdName}`,
    apiVersion: `${group}/v1`,
    at: (ns, v = 'v1') =>
      scope === 'Cluster' ? `/apis/${group}/${v}/${plural}` : `/apis/${group}/${v}/namespaces/${ns}/${plural}`,
    object: (name, fields = {}, metadata = {}) => ({
      apiVersion: `${group}/v1`,
      kind: 'Widget',
      metadata: { name, ...metadata },
      ...fields,
    }),
  }
  return { crd, kind }
}

/** A custom kind that is served already. */
export async function customKind(options: KindOptions = {}): Promise<CustomKind> {
  const { crd, kind } = crdFor(options)
  ok(await server.create(crds, crd))
  made.push(kind.crdPath)
  await served(kind)
  return kind
}

export async function served(kind: CustomKind, version = 'v1'): Promise<void> {
  // A multi-path wait: discovery and the handler of the collection become true at slightly different moments.
  await eventually(async () => {
    const list = ok(await server.get(`/apis/${kind.group}/${version}/${kind.plural}`))
    if (list.kind !== 'WidgetList') throw new Error(`got a ${list.kind}`)
  })
}

/** Any object schema for a kind with these spec and status properties. */
export function specSchema(spec: object, status?: object, more: object = {}): object {
  return {
    type: 'object',
    properties: {
      spec: { type: 'object', ...spec },
      ...(status && { status: { type: 'object', ...status } }),
    },
    ...more,
  }
}

export function pod(name: string, fields: object = {}, metadata: object = {}): Config {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { containers: [{ name: 'main', image: 'example.com/main:1' }], ...fields },
  }
}
