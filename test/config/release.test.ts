// What users install from, as it is rendered.

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { plainInstall, toInstallation, toYAML } from '../../scripts/config/manifests.ts'
import { toComponents, toMetadata, variables } from '../../scripts/release/clusterctl.ts'
import { releaseVersion, writeRelease } from '../../scripts/release/write.ts'
import { flags } from '../../src/cli/controller-flags.ts'
import { deskNames } from '../../src/cli/desks.ts'
import type { Manifest } from '../install/manifests.ts'

const objects = toInstallation(plainInstall) as unknown as Manifest[]
const ofKind = (kind: string): Manifest[] => objects.filter(object => object.kind === kind)
function the(kind: string): Manifest {
  const [object] = ofKind(kind)
  if (!object) throw new Error(`there is no ${kind}`)
  return object
}

const labelsOf = ({ metadata }: Manifest) => metadata.labels ?? {}

/** Pools that claims of Cluster API name. */
const isForCAPI = (kind: string): boolean => kind.endsWith('Pool') && kind !== 'IPPool'

describe('an installation', () => {
  test('names every object once, and puts those with a namespace into one that comes first', () => {
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`)
    expect(new Set(names).size).toBe(names.length)
    const [first] = objects
    expect([first?.kind, first?.metadata.name]).toEqual(['Namespace', 'mooring-system'])
    expect(ofKind('Namespace')).toHaveLength(1)
    const elsewhere = objects.filter(({ metadata }) => (metadata.namespace ?? 'mooring-system') !== 'mooring-system')
    expect(elsewhere).toEqual([])
  })

  test('carries the name of the provider on everything', () => {
    for (const object of objects) expect(labelsOf(object)['cluster.x-k8s.io/provider']).toBe('ipam-mooring')
  })

  test('lets clusterctl move pools, with what is below them only in a namespace, and never holds, nor what is kept of networks', () => {
    const label = (definition: Manifest, name: string) =>
      labelsOf(definition)[`clusterctl.cluster.x-k8s.io/${name}`] !== undefined
    for (const definition of ofKind('CustomResourceDefinition')) {
      const { scope, names } = definition.spec as { scope: string; names: { kind: string } }
      const isPool = isForCAPI(names.kind)
      const seen = [names.kind, label(definition, 'move'), label(definition, 'move-hierarchy')]
      expect(seen).toEqual([names.kind, isPool && scope === 'Cluster', isPool && scope === 'Namespaced'])
    }
  })

  test('says of every pool which version answers to which contract of Cluster API', () => {
    for (const definition of ofKind('CustomResourceDefinition')) {
      const { names, versions } = definition.spec as { names: { kind: string }; versions: { name: string }[] }
      if (!isForCAPI(names.kind)) continue
      for (const contract of ['v1beta1', 'v1beta2']) {
        const version = labelsOf(definition)[`cluster.x-k8s.io/${contract}`]
        expect(versions.map(({ name }) => name)).toContain(version)
      }
    }
  })

  test('serves every version of a kind that has several, converts them, and has the authority put in', () => {
    interface Spec {
      versions: { name: string; served: boolean }[]
      conversion?: { strategy: string }
    }
    const converted = ofKind('CustomResourceDefinition').filter(({ spec }) => (spec as Spec).versions.length > 1)
    expect(converted).toHaveLength(2)
    for (const definition of converted) {
      const { versions, conversion } = definition.spec as Spec
      expect(versions.every(({ served }) => served)).toBe(true)
      expect(conversion?.strategy).toBe('Webhook')
      expect(definition.metadata.annotations).toHaveProperty(['cert-manager.io/inject-ca-from'])
    }
  })

  test('sends webhooks to a Service that exists, and certifies its name', () => {
    const services = ofKind('Service').map(({ metadata }) => metadata.name)
    const configurations = [...ofKind('ValidatingWebhookConfiguration'), ...ofKind('MutatingWebhookConfiguration')]
    expect(configurations).toHaveLength(2)
    const certificate = the('Certificate')
    const { dnsNames, secretName } = certificate.spec as { dnsNames: string[]; secretName: string }
    for (const { webhooks, metadata } of configurations) {
      expect(metadata.annotations?.['cert-manager.io/inject-ca-from']).toBe(
        `mooring-system/${certificate.metadata.name}`,
      )
      for (const { clientConfig } of webhooks as { clientConfig: { service: { name: string; namespace: string } } }[]) {
        expect(services).toContain(clientConfig.service.name)
        expect(dnsNames).toContain(`${clientConfig.service.name}.${clientConfig.service.namespace}.svc`)
      }
    }
    expect(JSON.stringify(ofKind('Deployment'))).toContain(`"secretName":"${secretName}"`)
  })

  test('runs as a user without privileges and may write nothing', () => {
    const { replicas, template } = the('Deployment').spec as { replicas: number; template: { spec: PodSpec } }
    const { securityContext, containers } = template.spec
    expect(replicas).toBe(2)
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(containers.map(({ name }) => name)).toEqual(['manager'])
    for (const container of containers) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect(container.args).toContain('--leader-elect=true')
      expect(container).toMatchObject({ livenessProbe: {}, readinessProbe: {}, resources: { requests: {} } })
    }
  })

  test('lets nothing run in its namespace with more privileges than that', () => {
    expect(labelsOf(the('Namespace'))).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/audit': 'restricted',
      'pod-security.kubernetes.io/warn': 'restricted',
    })
  })

  test('is given a token that ends within the hour, and no other pod gets one with its account', () => {
    const { template } = the('Deployment').spec as { template: { spec: PodSpec } }
    const sources = template.spec.volumes.flatMap(({ projected }) => projected?.sources ?? [])
    expect([the('ServiceAccount'), template.spec]).toMatchObject([
      { automountServiceAccountToken: false },
      { automountServiceAccountToken: false },
    ])
    expect(sources.flatMap(({ serviceAccountToken }) => serviceAccountToken ?? [])).toEqual([
      { path: 'token', expirationSeconds: 3600 },
    ])
  })

  test('has its metrics scraped only where the certificate is the one that was made for them', () => {
    const monitor = parse(readFileSync('config/prometheus/monitor.yaml', 'utf8'))
    const { dnsNames, secretName } = the('Certificate').spec as { dnsNames: string[]; secretName: string }
    const [{ tlsConfig }] = monitor.spec.endpoints
    expect(tlsConfig.ca.secret).toEqual({ name: secretName, key: 'ca.crt' })
    expect(dnsNames).toContain(tlsConfig.serverName)
    const chart = readdirSync('charts/mooring/templates').map(name =>
      readFileSync(join('charts/mooring/templates', name), 'utf8'),
    )
    expect([JSON.stringify(monitor), ...chart].join()).not.toContain('insecureSkipVerify')
  })
})

interface Volume {
  name: string
  projected?: { sources: { serviceAccountToken?: { expirationSeconds: number } }[] }
}

interface UserRole {
  office: unknown[]
  desks: Record<string, unknown[]>
}

interface BOM {
  metadata: { component: { purl: string } }
  components: { name: string; purl: string; hashes: object[] }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

interface Desk {
  seeing: Record<string, unknown[]>
  working: Record<string, unknown[]>
}

type Webhooks = Record<'mutating' | 'validating', { name: string }[]>

interface PodSpec {
  securityContext: unknown
  automountServiceAccountToken: boolean
  volumes: Volume[]
  containers: { name: string; args: string[]; securityContext: unknown }[]
}

describe('the flags that are passed', () => {
  const known = new Map(flags.map(({ flag, default: value }) => [flag.split(' ')[0] ?? '', value]))

  test('are ones that the controller knows, in every way to install', () => {
    const template = readFileSync('charts/mooring/templates/controller.yaml', 'utf8')
    const inChart = [...template.matchAll(/^ +- (--[a-z-]+)/gm)].map(([, flag = '']) => flag)
    const { template: pod } = the('Deployment').spec as { template: { spec: PodSpec } }
    const inManifest = pod.spec.containers.flatMap(({ args }) => args.slice(1)).map(arg => arg.split('=')[0] ?? '')
    expect(inChart.length).toBeGreaterThan(5)
    expect([...inChart, ...inManifest].filter(flag => !known.has(flag))).toEqual([])
  })

  test.each(variables)('$flag has the default of the controller for users of clusterctl', ({ flag, value }) => {
    expect(String(known.get(flag))).toBe(value)
  })
})

describe('what clusterctl reads', () => {
  test('is the same installation once variables have their defaults', () => {
    const flags = variables.map(({ flag, value }) => `${flag}=${value}`)
    const defaults = toComponents(objects).replaceAll(/\$\{[A-Z_]+:=([^}]*)\}/g, '$1')
    const read = parseAllDocuments(defaults).map(document => document.toJS() as Manifest)
    const isSaid = (arg: string) => !flags.includes(arg)
    const plain = JSON.stringify(read, (key, value) => (key === 'args' ? (value as string[]).filter(isSaid) : value))
    expect(JSON.parse(plain)).toEqual(objects)
    expect(flags.filter(flag => defaults.includes(flag))).toEqual(flags)
  })

  test('reads as objects before anything is substituted', () => {
    const read = parseAllDocuments(toComponents(objects)).map(document => document.toJS() as Manifest)
    expect((read.find(({ kind }) => kind === 'Deployment')?.spec as { replicas: unknown } | undefined)?.replicas).toBe(
      2,
    )
  })

  test('is refused where something would be taken for a variable', () => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { a: `$${'{b}'}` } }
    expect(() => toComponents([object])).toThrow('clusterctl would substitute')
  })

  test('knows the contract of this version, and of no other', () => {
    expect(toMetadata(releaseVersion())).toContain('contract: v1beta2')
    expect(() => toMetadata('v7.0.0')).toThrow('belongs to no release series')
  })
})

describe('YAML that others read', () => {
  // kubectl and helm read YAML 1.1, where words such as off and numbers such as 012 are something else than here.
  const files = ['config', 'docs/samples'].flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.yaml'))
      .map(name => join(folder, name)),
  )

  test.each(files)('%s says the same in the older YAML', path => {
    const text = readFileSync(path, 'utf8')
    const read = (version: '1.1' | '1.2') => parseAllDocuments(text, { version }).map(document => document.toJS())
    expect(read('1.1')).toEqual(read('1.2'))
  })

  test('what is rendered quotes what could be mistaken', () => {
    expect(toYAML([{ policy: 'off', mode: '0644' }])).toBe('---\npolicy: "off"\nmode: "0644"\n')
  })
})

describe('a release', () => {
  const out = mkdtempSync(join(tmpdir(), 'mooring-release-'))
  beforeAll(() => writeRelease({ out, image: 'example.com/mooring:test' }))
  afterAll(() => rmSync(out, { recursive: true }))

  test('is laid out as clusterctl expects of a folder', () => {
    const folder = join(out, 'ipam-mooring', releaseVersion())
    expect(readFileSync(join(folder, 'ipam-components.yaml'), 'utf8')).toContain(
      `--log-level=$${'{MOORING_LOG_LEVEL:=info}'}`,
    )
    expect(readFileSync(join(folder, 'metadata.yaml'), 'utf8')).toContain('kind: Metadata')
  })

  test('runs the image of its own version by default', () => {
    expect(plainInstall.image.endsWith(`:${releaseVersion()}`)).toBe(true)
  })

  test('has a chart that knows every desk of the table, and runs all of them', () => {
    const chart = (path: string) => readFileSync(join(out, 'charts/mooring', path), 'utf8')
    expect(parse(chart('values.yaml')).desks).toEqual(deskNames)
    expect(JSON.parse(chart('values.schema.json')).properties.desks).toMatchObject({
      minItems: 1,
      items: { enum: deskNames },
    })
  })

  test('has a chart with the rules and webhooks of each part apart', () => {
    const made = (path: string) => parse(readFileSync(join(out, 'charts/mooring/made', path), 'utf8'))
    const { office, desks, election, diagnostics, registration, metricsReader } = made('permissions.yaml')
    const parts = [
      office,
      election,
      diagnostics,
      registration,
      ...Object.values<Desk>(desks).flatMap(desk => [desk.seeing, desk.working]),
    ]
    const inFull = (name: string) => Object.values<unknown[]>(desks[name].full).flat()
    expect(deskNames.filter(name => inFull(name).length > 0)).toEqual(['machine'])
    const rules = parts.flatMap(part => Object.values<unknown[]>(part)).flat()
    const texts = (list: readonly unknown[]) => [...new Set(list.map(rule => JSON.stringify(rule)))].toSorted()
    const users = (made('users.yaml').roles as UserRole[]).flatMap(role => [
      ...role.office,
      ...Object.values(role.desks).flat(),
    ])
    const roles = [...ofKind('ClusterRole'), ...ofKind('Role')].flatMap(role => role.rules as unknown[])
    expect(texts([...rules, ...metricsReader, ...users])).toEqual(texts(roles))
    const webhooks = made('webhooks.yaml')
    expect(Object.keys(webhooks.desks)).toEqual(deskNames)
    for (const type of ['mutating', 'validating'] as const) {
      const [first = ''] = type.toUpperCase()
      const kind = `${first}${type.slice(1)}WebhookConfiguration`
      const names = [webhooks.office, ...Object.values<Webhooks>(webhooks.desks)].flatMap(
        (part: Webhooks) => part[type],
      )
      expect(names.map(({ name }) => name)).toEqual((the(kind).webhooks as { name: string }[]).map(({ name }) => name))
    }
  })

  test('names every package that is needed to run, and none besides, with the checksum of the lock file', () => {
    const { metadata, components, dependencies } = JSON.parse(readFileSync(join(out, 'bom.json'), 'utf8')) as BOM
    const reached = new Set([metadata.component.purl])
    for (const ref of reached) {
      for (const next of dependencies.find(dependency => dependency.ref === ref)?.dependsOn ?? []) reached.add(next)
    }
    const known = components.map(({ purl }) => purl)
    expect([...reached].slice(1).toSorted()).toEqual(known.toSorted())
    expect(known).toContain('pkg:npm/%40lmdb/lmdb-linux-arm64@3.5.6')
    expect(known.join()).not.toContain('vitest')
    const yaml = components.find(({ name }) => name === 'yaml')
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
    const content = Buffer.from(packages['node_modules/yaml'].integrity.slice('sha512-'.length), 'base64')
    expect(yaml?.hashes).toEqual([{ alg: 'SHA-512', content: content.toString('hex') }])
  })

  test('has the definition of IPAMClaim apart, and in no installation: other products bring it', () => {
    const definition = readFileSync(join(out, 'definitions/ipamclaims.k8s.cni.cncf.io.yaml'), 'utf8')
    expect(parse(definition)).toMatchObject({ metadata: { name: 'ipamclaims.k8s.cni.cncf.io' } })
    const kinds = ofKind('CustomResourceDefinition').map(({ metadata }) => metadata.name)
    expect(kinds).not.toContain('ipamclaims.k8s.cni.cncf.io')
  })

  test('has a checksum of every file, and says from what it was made', () => {
    const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n')
    const files = readdirSync(out, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && entry.name !== 'SHA256SUMS')
      .map(entry => relative(out, join(entry.parentPath, entry.name)))
    const sumOf = (path: string) =>
      createHash('sha256')
        .update(readFileSync(join(out, path)))
        .digest('hex')
    expect(sums.toSorted()).toEqual(files.map(path => `${sumOf(path)}  ${path}`).toSorted())
    const { subject } = JSON.parse(readFileSync(join(out, 'provenance.json'), 'utf8'))
    expect(subject).toContainEqual({ name: 'mooring.yaml', digest: { sha256: sumOf('mooring.yaml') } })
  })

  test('runs the image that a value names', () => {
    expect(readFileSync(join(out, 'mooring.yaml'), 'utf8')).toContain('image: example.com/mooring:test')
  })
})
