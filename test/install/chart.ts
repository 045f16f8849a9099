// The chart, with helm: what it renders, what it refuses, and what stays when it goes.

import { X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rulesOf } from '../../scripts/config/rules.ts'
import { driftOf } from '../../src/admission/drift.ts'
import { deskNames } from '../../src/cli/desks.ts'
import { permissionSets } from '../../src/cli/permissions.ts'
import { componentsOf } from '../../src/controllers/assemble.ts'
import { desks } from '../../src/controllers/desks.ts'
import type { Sentences } from '../capi/sentences.ts'
import { expectSame, keyOf, type Manifest, readObjects } from './manifests.ts'
import { mustRun, mustRunQuietly, run } from './run.ts'
import { namespace, type World } from './world.ts'

/** Ways to install that users choose, by name. */
const choices: Readonly<Record<string, readonly string[]>> = {
  'nothing chosen': [],
  'certificates signed by helm': ['webhook.certificates.source=generated'],
  'certificates of the user': [
    'webhook.certificates.source=provided',
    'webhook.certificates.secretName=mine',
    `webhook.certificates.caBundle=${Buffer.from('an authority').toString('base64')}`,
  ],
  'everything that can be switched on': ['serviceMonitor', 'podMonitor', 'prometheusRule', 'dashboard'].map(
    part => `${part}.enabled=true`,
  ),
  'API servers that are known': [
    'networkPolicy.apiServerCIDRs={10.0.0.4/32,10.96.0.1/32}',
    'webhook.clientAuthority.configMapName=webhook-clients',
    'webhook.clientAuthority.names={kube-apiserver}',
  ],
  'no network policy': ['networkPolicy.enabled=false'],
  'one namespace, one replica, plain metrics': ['watchNamespace=team', 'replicas=1', 'metrics.secure=false'],
  'virtual machines that Mooring makes': [
    'machines.mode=full',
    'machines.vcenters={vcenter.example}',
    'machines.namespaces={default,kube-system}',
  ],
  'no roles for users': ['userRoles.enabled=false'],
  'the definition of IPAMClaim': ['crds.ipamClaims=true'],
  'no definitions, no election': ['crds.install=false', 'leaderElection.enabled=false'],
}

/** What is refused, and the word that the refusal names. */
const mistakes: readonly (readonly [value: string, named: string])[] = [
  ['replica=3', 'replica'],
  ['replicas=-1', 'replicas'],
  ['desks={toString}', 'desks'],
  ['desks={}', 'desks'],
  ['machines.mode=full', 'vcenters'],
  ['logLevel=loud', 'logLevel'],
  ['webhook.certificates.source=provided', 'secretName'],
  ['webhook.certificates.source=magic', 'source'],
  ['metrics.port=0', 'port'],
  ['networkPolicy.apiServerCIDRs={10.0.0.4}', 'apiServerCIDRs'],
  ['webhook.clientAuthority.names={kube-apiserver}', 'configMapName'],
  ['image.digest=abc', 'digest'],
]

export async function checkChart({ it }: Pick<Sentences, 'it'>, world: World): Promise<void> {
  const { helm, helmEnv: env, kubectl, chart, dir } = world
  const target = ['-n', namespace]
  const template = (sets: readonly string[]) =>
    mustRunQuietly(helm, ['template', 'mooring', chart, ...target, '--kube-version', '1.35.0', ...asFlags(sets)], {
      env,
    })

  await it('helm lint has nothing to say against it', async () => {
    await mustRun(helm, ['lint', '--strict', chart], { env })
  })

  await it('the folder in git says that it is not the whole chart', async () => {
    const { code, err } = await run(helm, ['template', 'charts/mooring', '--kube-version', '1.35.0'], { env })
    if (code === 0 || !err.includes('npm run release')) throw new Error(err)
  })

  for (const [value, named] of mistakes) {
    await it(`refuses --set ${value}`, async () => {
      const { code, err } = await run(helm, ['template', chart, '--kube-version', '1.35.0', '--set', value], { env })
      if (code === 0 || !err.includes(named)) throw new Error(`expected a refusal that names ${named}:\n${err}`)
    })
  }

  for (const [name, sets] of Object.entries(choices)) {
    await it(`with ${name}, the API server accepts what it renders, without a warning`, async () => {
      const rendered = join(dir, 'rendered.yaml')
      writeFileSync(rendered, await template(sets))
      await mustRunQuietly('kubectl', [...kubectl, 'apply', '--server-side', '--dry-run=server', '-f', rendered])
      const dryRun = ['install', 'mooring', chart, ...target, '--dry-run=server', ...asFlags(sets)]
      await mustRunQuietly(helm, dryRun, { env })
    })
  }

  await it('installs the objects of the release, with the same permissions, webhooks and kinds', async () => {
    const rendered = readObjects(await template([]))
    for (const expected of readObjects(world.file('mooring.yaml'))) {
      if (expected.kind === 'Namespace') continue
      const seen = rendered.find(
        ({ kind, metadata }) => kind === expected.kind && metadata.name === expected.metadata.name,
      )
      const what = `${expected.kind} ${expected.metadata.name}`
      if (!seen) throw new Error(`${what} is missing`)
      expectSame(`${what}: namespace`, expected.metadata.namespace, seen.metadata.namespace)
      expectSame(what, essence(expected), essence(seen))
      for (const [key, value] of Object.entries(expected.metadata.annotations ?? {})) {
        expectSame(`${what}: ${key}`, value, seen.metadata.annotations?.[key])
      }
      for (const [key, value] of Object.entries(expected.metadata.labels ?? {})) {
        expectSame(`${what}: ${key}`, value, seen.metadata.labels?.[key])
      }
    }
  })

  await it('with API servers that are known, lets webhooks in from there, and out to there and to DNS', async () => {
    const rendered = readObjects(await template(choices['API servers that are known'] ?? []))
    const policy = rendered.find(({ kind }) => kind === 'NetworkPolicy')
    const servers = ['10.0.0.4/32', '10.96.0.1/32'].map(cidr => ({ ipBlock: { cidr } }))
    expectSame('webhooks', servers, policy?.spec.ingress[0].from)
    expectSame('the way out', [servers, undefined], [policy?.spec.egress[0].to, policy?.spec.egress[1].to])
  })

  await it('where Mooring makes virtual machines, has the permissions of config/rbac/machines.yaml besides, and else none of them', async () => {
    const isOf = ({ metadata }: Manifest) => metadata.name === 'mooring-machines'
    const [sets] = [choices['virtual machines that Mooring makes'] ?? []]
    const rendered = readObjects(await template([...sets.slice(0, 2), 'machines.namespaces={openshift-machine-api}']))
    const expected = readObjects(readFileSync('config/rbac/machines.yaml', 'utf8'))
    expectSame('kinds', expected.map(keyOf).sort(), rendered.filter(isOf).map(keyOf).sort())
    for (const role of expected) {
      const same = rendered.find(one => keyOf(one) === keyOf(role))
      expectSame(`${keyOf(role)}: rules`, sorted(role.rules), sorted(same?.rules))
    }
    expectSame(
      'by default',
      [],
      readObjects(await template([]))
        .filter(isOf)
        .map(keyOf),
    )
  })

  await it('where Mooring would make virtual machines but the desk of Machines is off, has none of those permissions', async () => {
    const [sets] = [choices['virtual machines that Mooring makes'] ?? []]
    const on = deskNames.filter(name => name !== 'machine')
    const rendered = readObjects(await template([...sets, `desks={${on.join(',')}}`]))
    const names = rendered.filter(({ kind }) => kind.includes('Role')).map(keyOf)
    expectSame(
      'roles',
      [],
      names.filter(name => name.includes('mooring-machines')),
    )
  })

  await it('for one namespace, has the permissions of config/rbac/one-namespace.yaml', async () => {
    const rendered = readObjects(await template(['watchNamespace=default', 'userRoles.enabled=false']))
    const rules = (objects: readonly Manifest[]) =>
      Object.fromEntries(
        objects.filter(({ kind }) => kind.endsWith('Role')).map(object => [keyOf(object), sorted(object.rules)]),
      )
    const expected = readObjects(readFileSync('config/rbac/one-namespace.yaml', 'utf8'))
    expectSame('rules', rules(expected), rules(rendered))
  })

  await it('has roles for users only where they are wanted, and leaves them out of those of Kubernetes on demand', async () => {
    const names = (text: string) => readObjects(text).map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    const wanted = ['view', 'edit', 'admin', 'ledger-reader', 'pool-admin'].map(name => `ClusterRole mooring-${name}`)
    const all = names(await template([]))
    const missing = wanted.filter(name => !all.includes(name))
    expectSame('roles that are missing', [], missing)
    const without = names(await template(['userRoles.enabled=false']))
    expectSame(
      'roles that are left',
      [],
      wanted.filter(name => without.includes(name)),
    )
    const apart = await template(['userRoles.aggregate=false'])
    if (apart.includes('aggregate-to')) throw new Error('a role is still included')
  })

  for (const off of desks) {
    const on = deskNames.filter(name => name !== off.name)
    // The schema wants one desk at least; a chart with none is rendered only to see what is left.
    const choice =
      on.length === 0 ? ['--set', 'desks={}', '--skip-schema-validation'] : ['--set', `desks={${on.join(',')}}`]
    await it(`without the desk ${off.name}, has neither its webhooks nor its permissions to write`, async () => {
      const text = await mustRun(
        helm,
        ['template', 'mooring', chart, ...target, '--kube-version', '1.35.0', ...choice],
        { env },
      )
      const rendered = readObjects(text)
      const isController = ({ kind, metadata }: Manifest) =>
        kind === 'ClusterRole' && metadata.name === 'mooring-controller'
      const role = rendered.find(isController)
      const sets = permissionSets(desks, on)
      expectSame('rules', sorted(rulesOf(sets, ['cluster', 'watched'])), sorted(role?.rules))
      const registered = componentsOf(desks, on).flatMap(({ webhooks }) => webhooks)
      const names = rendered.flatMap(({ webhooks }) => (webhooks ?? []) as { name: string }[]).map(({ name }) => name)
      const expected = registered.filter(({ isStandIn }) => isStandIn !== true).map(({ name }) => name)
      expectSame('webhooks', expected.toSorted(), names.toSorted())
    })
  }

  const generated = asFlags(['webhook.certificates.source=generated', 'replicas=1'])
  const secret = async () => {
    const args = ['get', 'secret', 'mooring-webhook-service-cert', ...target, '-o', 'json']
    return (JSON.parse(await mustRun('kubectl', [...kubectl, ...args])) as { data: Record<string, string> }).data
  }

  await it('helm install, with the authority that signed the certificate in every webhook', async () => {
    await mustRunQuietly(helm, ['install', 'mooring', chart, ...target, ...generated], { env })
    const { 'ca.crt': authority = '', 'tls.crt': certificate = '' } = await secret()
    const [signer, signed] = [authority, certificate].map(text => new X509Certificate(Buffer.from(text, 'base64')))
    if (!signer || !signed?.verify(signer.publicKey)) throw new Error('the authority did not sign the certificate')
    for (const service of ['webhook', 'metrics']) {
      if (!signed.checkHost(`mooring-${service}-service.${namespace}.svc`)) throw new Error(`${signed.subjectAltName}`)
    }
    const days = (Date.parse(signed.validTo) - Date.now()) / 86_400_000
    if (days > 366) throw new Error(`it is good for ${days} days`)
    const kinds = 'validatingwebhookconfigurations,mutatingwebhookconfigurations,crd'
    const args = ['get', kinds, '-l', 'app.kubernetes.io/instance=mooring', '-o', 'json']
    const text = await mustRun('kubectl', [...kubectl, ...args])
    const bundles = [...text.matchAll(/"caBundle": "([^"]*)"/g)].map(([, bundle]) => bundle)
    // One for each webhook, and for each of the two kinds that are converted.
    const webhooks = componentsOf(desks, deskNames).flatMap(component => component.webhooks)
    const registered = webhooks.filter(({ isStandIn }) => !isStandIn)
    expectSame('number of registrations', registered.length + 2, bundles.length)
    expectSame('authorities', [authority], [...new Set(bundles)])
  })

  await it('what helm installed is what the controller looks for each minute, webhooks and policies', async () => {
    const kinds = ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations', 'validatingadmissionpolicies']
    const lists: unknown[][] = []
    for (const kind of [...kinds, 'validatingadmissionpolicybindings']) {
      const text = await mustRun('kubectl', [...kubectl, 'get', kind, '-o', 'json'])
      lists.push((JSON.parse(text) as { items: unknown[] }).items)
    }
    const [validating = [], mutating = [], policies = [], bindings = []] = lists
    const webhooks = componentsOf(desks, deskNames).flatMap(component => component.webhooks)
    const drift = driftOf(webhooks, { validating, mutating, policies, bindings })
    const wrong = [...drift].flatMap(([name, why]) => (why === undefined ? [] : [`${name} ${why}`]))
    expectSame('what is wrong', [], wrong)
    expectSame('number of policies', webhooks.filter(({ policy }) => policy !== undefined).length, policies.length)
  })

  await it('helm upgrade keeps the certificate', async () => {
    const before = await secret()
    await mustRunQuietly(helm, ['upgrade', 'mooring', chart, ...target, ...generated, '--set', 'logLevel=debug'], {
      env,
    })
    expectSame('certificate', before, await secret())
  })

  await it('helm upgrade makes a new certificate when half of its life is over', async () => {
    const before = await secret()
    const past = `mooring.dev/renew-after=${Math.floor(Date.now() / 1000) - 1}`
    const args = ['annotate', 'secret', 'mooring-webhook-service-cert', ...target, past, '--overwrite']
    await mustRun('kubectl', [...kubectl, ...args])
    await mustRunQuietly(helm, ['upgrade', 'mooring', chart, ...target, ...generated], { env })
    const after = await secret()
    if (before['tls.crt'] === after['tls.crt']) throw new Error('it is the same')
  })

  await it('helm uninstall leaves the kinds, and the pools of users', async () => {
    await mustRun(helm, ['uninstall', 'mooring', ...target], { env })
    const pool = {
      apiVersion: 'mooring.dev/v1alpha1',
      kind: 'AddressPool',
      metadata: { name: 'kept', namespace: 'team' },
    }
    const spec = { addresses: ['10.0.0.10-10.0.0.20'], prefix: 24 }
    await mustRun('kubectl', [...kubectl, 'create', '-f', '-'], { input: JSON.stringify({ ...pool, spec }) })
    const admission = 'validatingwebhookconfigurations,mutatingwebhookconfigurations'
    const policies = 'validatingadmissionpolicies,validatingadmissionpolicybindings'
    const gone = `deployments,services,${admission},${policies}`
    const left = await mustRun('kubectl', [...kubectl, 'get', gone, '-A', '-o', 'name'])
    if (left.includes('mooring')) throw new Error(left)
  })

  await it('brings the definition of IPAMClaim if it is asked to, keeps it, and leaves that of another product as it is', async () => {
    const crd = ['get', 'crd', 'ipamclaims.k8s.cni.cncf.io', '-o']
    const ours = [...generated, '--set', 'crds.ipamClaims=true', '--take-ownership']
    const cycle = async () => {
      await mustRunQuietly(helm, ['install', 'mooring', chart, ...target, ...ours], { env })
      await mustRunQuietly(helm, ['upgrade', 'mooring', chart, ...target, ...ours], { env })
      await mustRun(helm, ['uninstall', 'mooring', ...target], { env })
    }
    await cycle()
    await mustRun('kubectl', [...kubectl, 'delete', 'crd', 'ipamclaims.k8s.cni.cncf.io'])
    const other = join(world.release, 'definitions', 'ipamclaims.k8s.cni.cncf.io.yaml')
    await mustRun('kubectl', [...kubectl, 'create', '-f', other])
    const before = await mustRun('kubectl', [
      ...kubectl,
      ...crd,
      'jsonpath={.metadata.uid} {.metadata.generation} {.metadata.labels}',
    ])
    await cycle()
    const after = await mustRun('kubectl', [
      ...kubectl,
      ...crd,
      'jsonpath={.metadata.uid} {.metadata.generation} {.metadata.labels}',
    ])
    expectSame('the definition', before, after)
    await mustRun('kubectl', [...kubectl, 'delete', 'crd', 'ipamclaims.k8s.cni.cncf.io'])
  })

  await it('helm install --take-ownership begins again with what was left', async () => {
    const args = ['install', 'mooring', chart, ...target, ...generated, '--take-ownership']
    await mustRunQuietly(helm, args, { env })
    await mustRun('kubectl', [...kubectl, 'get', 'addresspools', '-n', 'team', 'kept'])
    await mustRun(helm, ['uninstall', 'mooring', ...target], { env })
    await mustRun('kubectl', [...kubectl, 'delete', 'addresspools', '-n', 'team', 'kept'])
  })
}

/** The order of rules and of webhooks means nothing; the chart has that of names, the plain manifests that of the table. */
function sorted(list: unknown): unknown[] {
  const items = ((list ?? []) as readonly object[]).map(item => [toText(item), item] as const)
  return items.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item)
}

/** The same for objects whose fields stand in another order. */
const toText = (item: object): string => JSON.stringify(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))

const asFlags = (sets: readonly string[]) => sets.flatMap(value => ['--set', value])

/** What an object is for: without its metadata, with rules and webhooks in any order, and without flags that repeat defaults. */
function essence({ metadata: _metadata, ...object }: Manifest): unknown {
  if (object.rules !== undefined) return { ...object, rules: sorted(object.rules) }
  if (object.webhooks !== undefined) return { ...object, webhooks: sorted(object.webhooks) }
  if (object.kind !== 'Deployment') return object
  const { template, ...spec } = object.spec
  const containers = template.spec.containers.map(({ args, imagePullPolicy: _policy, ...container }: Container) => ({
    ...container,
    args: args.filter(arg => !defaults.includes(arg)),
  }))
  return { ...spec, template: { ...template.spec, containers } }
}

interface Container {
  readonly args: readonly string[]
  readonly imagePullPolicy?: string
}

const defaults: readonly string[] = [
  `--desks=${deskNames.join(',')}`,
  '--log-level=info',
  '--vm-ipam=auto',
  '--udn=auto',
  '--open-networks=false',
  '--default-network-namespace=ovn-kubernetes',
  '--machine-mode=claims',
  '--webhook-port=9443',
  '--diagnostics-address=:8443',
  '--insecure-diagnostics=false',
]
