// The manifests beside the code are what the code would write today.

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  plainInstall,
  toDefinitions,
  toFiles,
  toInstallation,
  toManager,
  toRBAC,
  toUserRoles,
  toWebhooks,
  toYAML,
} from '../../scripts/config/manifests.ts'
import { checkCRD } from '../../src/apiserver/crd/check.ts'
import type { KubeObject } from '../../src/apiserver/object.ts'
import { permissionSets } from '../../src/cli/permissions.ts'
import { componentsOf } from '../../src/controllers/assemble.ts'
import { capi } from '../../src/controllers/capi/desk.ts'
import { toy } from '../toy-desk/desk.ts'
import { desksWithToy } from '../toy-desk/desks.ts'

const files = toFiles(plainInstall)

describe('the manifests in config', () => {
  test.each(files.map(({ path, text }) => [path, text]))('%s is as `npm run config` writes it', (path, text) => {
    expect(readFileSync(`config/${path}`, 'utf8')).toBe(text)
  })

  test('nothing else lies in their folders', () => {
    const found = ['manager', 'node', 'rbac', 'webhook'].flatMap(folder =>
      readdirSync(`config/${folder}`).map(name => `${folder}/${name}`),
    )
    expect(found.filter(path => !path.endsWith('kustomization.yaml')).toSorted()).toEqual(
      files.map(({ path }) => path).toSorted(),
    )
  })

  test('every object has a name, and those of kinds with namespaces a namespace', () => {
    const places = toInstallation({ ...plainInstall, watchedNamespace: 'here' }).map(object => {
      const { kind, metadata } = object as unknown as KubeObject & { kind: string }
      return [kind, metadata.namespace, metadata.name]
    })
    for (const place of places) expect(place[2]).toMatch(/^(mooring-|[a-z]+\.)/)
    const without = new Set(places.filter(([, namespace]) => namespace === undefined).map(([kind = '']) => kind))
    expect([...without].toSorted()).toEqual([
      'ClusterRole',
      'ClusterRoleBinding',
      'CustomResourceDefinition',
      'MutatingWebhookConfiguration',
      'Namespace',
      'ValidatingAdmissionPolicy',
      'ValidatingAdmissionPolicyBinding',
      'ValidatingWebhookConfiguration',
    ])
  })
})

describe('definitions as they are installed', () => {
  const definitions = toDefinitions(plainInstall) as unknown as KubeObject[]

  test('are valid, and pools of older versions are converted by the service', () => {
    for (const definition of definitions) expect(checkCRD(definition as never)).toEqual([])
    const converted = definitions.filter(({ spec }) => 'conversion' in (spec as object))
    expect(converted.map(({ metadata }) => metadata.name)).toEqual([
      'globalinclusterippools.ipam.cluster.x-k8s.io',
      'inclusterippools.ipam.cluster.x-k8s.io',
    ])
    for (const { metadata, spec } of converted) {
      expect(metadata.annotations).toEqual({ 'cert-manager.io/inject-ca-from': 'mooring-system/mooring-serving-cert' })
      expect((spec as { versions: object[] }).versions).toMatchObject([
        { name: 'v1alpha1', served: true },
        { name: 'v1alpha2', served: true },
      ])
    }
  })

  test('name the authority where it is given, and do not ask cert-manager to inject it', () => {
    const text = toYAML(toInstallation({ ...plainInstall, authority: { kind: 'given', caBundle: 'QUJD' } }))
    expect(text).not.toContain('cert-manager')
    const webhooks = componentsOf(plainInstall.desks, plainInstall.on).flatMap(component => component.webhooks)
    const registered = webhooks.filter(({ isStandIn }) => !isStandIn)
    expect(text.match(/caBundle: QUJD/g)).toHaveLength(2 + registered.length)
  })
})

describe('an installation with a desk that is off', () => {
  const options = { ...plainInstall, desks: desksWithToy, on: ['toy'] }
  const [, role] = toRBAC(options)
  const rules = role?.rules as { apiGroups: string[]; resources: string[]; verbs: string[] }[]

  test('has neither its webhooks nor its permissions to write, only what it takes to see its kinds', () => {
    expect(rules.filter(({ resources }) => resources[0]?.startsWith('ipaddress'))).toEqual([
      { apiGroups: ['ipam.cluster.x-k8s.io'], resources: ['ipaddressclaims'], verbs: ['list', 'watch'] },
      { apiGroups: ['ipam.cluster.x-k8s.io'], resources: ['ipaddresses'], verbs: ['list', 'watch'] },
    ])
    expect(rules.flatMap(({ resources }) => resources)).toContain('berths/status')
    const names = toWebhooks(options).flatMap(({ webhooks }) => (webhooks ?? []) as { name: string }[])
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter(({ name }) => capi.webhooks.some(webhook => webhook.name === name))).toEqual([])
  })

  test('brings the kinds of the desks that are on into the roles for users, and of no other', () => {
    const edited = toUserRoles(options).flatMap(({ metadata, rules }) =>
      (metadata as { name: string }).name === 'mooring-edit' ? (rules as Rule[]) : [],
    )
    const written = edited.filter(({ verbs }) => verbs.includes('create')).flatMap(({ resources }) => resources)
    expect(written).toEqual(['berths'])
    expect(edited.flatMap(({ resources }) => resources)).not.toContain('ipaddressclaims')
  })

  test('gives the controller its desks only where they are chosen', () => {
    expect(toYAML(toManager(options))).toContain('- --desks=toy\n')
    expect(toYAML(toManager({ ...options, on: desksWithToy.map(({ name }) => name) }))).not.toContain('--desks')
  })

  test('says of each rule which part needs it, also of one that two parts need', () => {
    const twin = { ...toy, name: 'twin' }
    const both = { ...options, desks: [...desksWithToy, twin], on: ['toy', 'twin'] }
    const text = toYAML(toRBAC(both), both)
    const reason = 'without it, a berth does not say what it has, or why it waits.'
    expect(text).toContain(`  # toy: ${reason}\n  # twin: ${reason}\n  - apiGroups:`)
    expect(text.match(/berths\/status/g)).toHaveLength(1)
  })
})

interface Rule {
  resources: string[]
  verbs: string[]
}

describe('permissions', () => {
  test.each(permissionSets(plainInstall.desks, plainInstall.on).map(set => [set.name, set.permissions] as const))(
    '%s asks for no permission twice, and for none with a wildcard',
    (_, permissions) => {
      const singles = permissions.flatMap(({ group, resources, verbs, scope }) =>
        resources.flatMap(resource => verbs.map(verb => `${verb} ${resource}.${group} ${scope}`)),
      )
      expect(new Set(singles).size).toBe(singles.length)
      expect(singles.join('\n')).not.toContain('*')
    },
  )

  test('with one namespace, only kinds without namespaces are reached everywhere', () => {
    const everywhere = toRBAC({ ...plainInstall, watchedNamespace: 'here' })
      .filter(({ kind }) => kind === 'ClusterRole')
      .flatMap(({ rules }) => rules as { resources?: string[] }[])
    const resources = everywhere.flatMap(rule => rule.resources ?? [])
    expect(new Set(resources.map(resource => resource.split('/')[0]))).toEqual(
      new Set([
        'holds',
        'ippools',
        'macholds',
        'clusteraddresspools',
        'globalinclusterippools',
        'globalinclusterprefixpools',
        'clusteruserdefinednetworks',
        'nodes',
        'settings',
        'migrationnetworks',
        'clusternetworks',
        'vlanconfigs',
        'vlanstatuses',
        'namespaces',
        'nodes',
        'tokenreviews',
        'subjectaccessreviews',
        'validatingwebhookconfigurations',
        'mutatingwebhookconfigurations',
        'validatingadmissionpolicies',
        'validatingadmissionpolicybindings',
      ]),
    )
  })
})
