// The controller as it runs in a cluster: with the account and the roles of its manifests, and no more.

import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { plainInstall } from '../../scripts/config/manifests.ts'
import { toMutatingConfiguration, toValidatingConfiguration } from '../../src/admission/registration.ts'
import { issueCA, issueServerCertificate } from '../../src/apiserver/certificates/issue.ts'
import { type Definition, definitionsOf, needsConversion, withConversion } from '../../src/cli/definitions.ts'
import { componentsOf } from '../../src/controllers/assemble.ts'
import type { Desk } from '../../src/controllers/desk.ts'
import { officeComponent } from '../../src/controllers/office/component.ts'
import { type KubeObject, refOf } from '../../src/kube/object.ts'
import { desksWithConverter } from '../toy-desk/desks.ts'
import {
  aClaim,
  addressOf,
  aGlobalPool,
  aGround,
  aNamespace,
  aPool,
  type Ground,
  installRoles,
  kindNamed,
  until,
} from './ground.ts'
import { aReplica, quickLease, type Replica } from './replica.ts'

let ground: Ground
let kubeconfig: string
const replicas: Replica[] = []

const home = 'controller-home'
const elsewhere = 'controller-elsewhere'
const webhooks = componentsOf(plainInstall.desks, plainInstall.on).flatMap(component => component.webhooks)
const { conversions } = officeComponent
const { namespace } = plainInstall

beforeAll(async () => {
  ground = await aGround()
  await installRoles(ground)
  await ground.apply(aNamespace(home), aNamespace(elsewhere))
  kubeconfig = await ground.kubeconfigOf(namespace, 'mooring-controller')
})
afterAll(() => ground.stop())
afterEach(async () => {
  for (const replica of replicas.splice(0)) await replica.stop()
})

async function start(options: Parameters<typeof aReplica>[1] = {}, desks?: readonly Desk[]): Promise<Replica> {
  const replica = await aReplica(kubeconfig, options, desks)
  replicas.push(replica)
  return replica
}

const claims = kindNamed('IPAddressClaim')

describe('a controller with the roles that are shipped', () => {
  test('binds a claim and takes its address back, and misses no permission', async () => {
    const replica = await start()
    await replica.untilReady()
    const pool = aPool(home, 'vms', '10.1.0.0/24')
    const claim = aClaim(home, 'first', pool)
    await ground.apply(pool, claim)
    expect(await addressOf(ground.admin, claim)).toBe('10.1.0.1')
    await ground.remove(claim)
    await until('the claim is gone', async () => (await ground.admin.get(claims, refOf(claim))) === undefined)
    await ground.remove(pool)
    await until(
      'the pool is gone',
      async () => (await ground.admin.get(kindNamed('InClusterIPPool'), refOf(pool))) === undefined,
    )
    expect(replica.lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('is ready without KubeVirt, and says that the desk of virtual machines waits, and for what', async () => {
    const replica = await start()
    await replica.untilReady()
    const missing = 'desk vm waits: virtualmachines.kubevirt.io is not installed: it comes with KubeVirt'
    await until('it is told', async () => (await replica.readyz()).text.includes(missing))
    expect(await replica.readyz()).toMatchObject({ code: 200, text: expect.stringMatching(/^ok\n/) })
    expect(await replica.readyz('/vm')).toMatchObject({ code: 503 })
    expect(await replica.readyz('/capi')).toMatchObject({ code: 200, text: 'ok' })
    await replica.said({ msg: 'a kind is missing', level: 'info', kind: 'virtualmachines.kubevirt.io' })
  })

  test('says which permission is missing, does not lead meanwhile, and works when it was given', async () => {
    const role = (await installRoles(ground)).find(({ kind }) => kind === 'ClusterRole') ?? {}
    const rules = role.rules as { resources: string[] }[]
    await ground.apply({ ...role, rules: rules.filter(rule => !rule.resources.includes('ipaddressclaims/status')) })
    const replica = await start()
    const line = await replica.said({ msg: 'a permission is missing' })
    expect(line).toMatchObject({
      level: 'error',
      verb: 'patch',
      resource: 'ipaddressclaims.ipam.cluster.x-k8s.io/status',
      without: 'a claim does not say that it is bound, or why it waits',
    })
    const reason =
      'may not patch ipaddressclaims.ipam.cluster.x-k8s.io/status: without it, a claim does not say that it is bound, or why it waits'
    await until('nothing else is missing', async () => {
      const { text } = await replica.readyz()
      const lines = text
        .split('\n')
        .filter(line => !(/^desk (vm|import|machine|migration) waits: /.test(line) && line.includes('not installed')))
      return lines.join('\n') === `desk capi waits: ${reason}\n`
    })
    expect((await replica.readyz()).code).toBe(503)
    expect(replica.lines.map(({ msg }) => msg)).not.toContain('leads')
    await installRoles(ground)
    await replica.untilReady()
    await replica.said({ msg: 'mooring controller is working' })
  })
})

describe('two replicas', () => {
  test('are both ready, and the second works when the first is stopped', async () => {
    const first = await start()
    await first.said({ msg: 'mooring controller is working' })
    const second = await start()
    await second.untilReady()
    expect(second.lines.map(({ msg }) => msg)).not.toContain('leads')
    await first.stop()
    await second.said({ msg: 'mooring controller is working' })
    const pool = aPool(home, 'handed-over', '10.2.0.0/24')
    const claim = aClaim(home, 'handed-over', pool)
    await ground.apply(pool, claim)
    expect(await addressOf(ground.admin, claim)).toBe('10.2.0.1')
  })

  test('the leader ends with a sentence when its lease is taken', async () => {
    const leader = await start(quickLease)
    await leader.said({ msg: 'mooring controller is working' })
    const leases = kindNamed('Lease')
    const ref = { namespace, name: 'mooring-controller' }
    await ground.admin.mergePatch(leases, ref, { spec: { holderIdentity: 'thief', leaseDurationSeconds: 3600 } })
    const failure = await leader.ended
    expect(failure.exitCode).toBe(3)
    expect(failure.message).toBe('the lease mooring-controller was lost')
    await ground.admin.delete(leases, ref)
  })
})

/** A new certificate of a new authority, as files. */
function issueFiles(directory: string, names: { dns: string[]; ips: string[] }): { ca: string } {
  const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) }
  const authority = issueCA('webhook-ca', life)
  const { certificate, key } = issueServerCertificate(authority, 'webhook', names, life)
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'tls.key'), key)
  writeFileSync(join(directory, 'tls.crt'), certificate)
  return { ca: authority.certificate }
}

describe('webhooks', () => {
  const pools = kindNamed('InClusterIPPool')

  function issue(directory: string) {
    return Buffer.from(issueFiles(directory, { dns: [], ips: ['127.0.0.1'] }).ca).toString('base64')
  }

  const register = (port: number | undefined, caBundle: string) => {
    const address = { kind: 'url', base: `https://127.0.0.1:${port}`, caBundle } as const
    return ground.apply(
      toValidatingConfiguration(webhooks, { address }),
      toMutatingConfiguration(webhooks, { address }),
      ...definitionsOf([officeComponent]).map(definition => withConversion(definition, conversions, address)),
    )
  }

  async function refusalOf(object: object, kind = pools): Promise<string> {
    return ground.admin.create(kind, object as KubeObject, { isDryRun: true }).then(
      () => 'accepted',
      (error: Error) => error.message,
    )
  }

  test('are answered by a replica that does not lead, as soon as it has a certificate, also a renewed one', async () => {
    const leader = await start()
    await leader.said({ msg: 'mooring controller is working' })
    const certificates = join(ground.directory, 'certificates')
    const standby = await start({ webhookPort: 0, webhookCertDir: certificates })
    const missing = `there is no certificate at ${join(certificates, 'tls.crt')}`
    await standby.said({ msg: 'webhooks cannot be served', problem: missing })
    await until('nothing else is missing', async () => (await standby.readyz()).text === `${missing}\n`)

    const bad = { ...aPool(home, 'bad'), spec: { addresses: ['10.9.0.1', '10.8.0.1'], prefix: 24 } }
    const first = issue(certificates)
    await standby.untilReady()
    await register(standby.ports.webhooks, first)
    await until('the webhook is called', async () => (await refusalOf(bad)).includes('validation.inclusterippool'))

    const pool = aPool(home, 'old-and-new', '10.9.0.0/24')
    await ground.apply(pool)
    const older = `/apis/ipam.cluster.x-k8s.io/v1alpha1/namespaces/${home}/inclusterippools/old-and-new`
    await until('the older version is served', async () => {
      const { apiVersion } = await ground.read(older)
      return apiVersion === 'ipam.cluster.x-k8s.io/v1alpha1'
    })

    const second = issue(certificates)
    await until('it is renewed', () => {
      return standby.lines.filter(({ msg }) => msg === 'webhooks are served with a new certificate').length === 2
    })
    await register(standby.ports.webhooks, second)
    await until('the webhook is called', async () => (await refusalOf(bad)).includes('validation.inclusterippool'))
    await ground.remove(pool, toValidatingConfiguration(webhooks, nowhere), toMutatingConfiguration(webhooks, nowhere))
    await ground.apply(...definitionsOf([officeComponent]).map(withoutConversion))
  })

  test('are answered to the API server alone where its authority is given, and conversions to every client', async () => {
    const directory = join(ground.directory, 'certificates-for-servers')
    const caBundle = issue(directory)
    const { ca: webhookClientCa, name } = ground.webhookClient
    const replica = await start({
      webhookPort: 0,
      webhookCertDir: directory,
      webhookClientCa,
      webhookClientNames: `another,${name}`,
    })
    await replica.untilReady()
    await register(replica.ports.webhooks, caBundle)
    const bad = { ...aPool(home, 'bad'), spec: { addresses: ['10.9.0.1', '10.8.0.1'], prefix: 24 } }
    await until('the webhook is called', async () => (await refusalOf(bad)).includes('a different subnet'))
    const pool = aPool(home, 'old-and-new', '10.9.0.0/24')
    await ground.apply(pool)
    const older = `/apis/ipam.cluster.x-k8s.io/v1alpha1/namespaces/${home}/inclusterippools/old-and-new`
    await until('the older version is served', async () => {
      const { apiVersion } = await ground.read(older)
      return apiVersion === 'ipam.cluster.x-k8s.io/v1alpha1'
    })
    for (const { path } of webhooks) expect((await post(replica, path, caBundle)).code).toBe(401)
    expect((await post(replica, '/convert', caBundle)).code).toBe(200)
    await ground.remove(pool, toValidatingConfiguration(webhooks, nowhere), toMutatingConfiguration(webhooks, nowhere))
    await ground.apply(...definitionsOf([officeComponent]).map(withoutConversion))
  })

  test('of a desk that is off refuse nothing where their registration was left over, and those of the office go on', async () => {
    const directory = join(ground.directory, 'certificates-of-one-desk')
    const caBundle = issue(directory)
    const replica = await start({ desks: 'capi', webhookPort: 0, webhookCertDir: directory })
    await replica.untilReady()
    await register(replica.ports.webhooks, caBundle)
    const bad = { ...aPool(home, 'bad'), spec: { addresses: ['10.9.0.1', '10.8.0.1'], prefix: 24 } }
    await until('the webhook is called', async () => (await refusalOf(bad)).includes('validation.inclusterippool'))
    const network = {
      apiVersion: 'mooring.dev/v1alpha1',
      kind: 'MigrationNetwork',
      metadata: { name: 'vm-migration-network' },
      spec: { bridge: 'br-migration', vlan: 100, range: '10.1.2.0/24' },
    }
    expect(await refusalOf(network, kindNamed('MigrationNetwork'))).toBe('accepted')
    await ground.remove(toValidatingConfiguration(webhooks, nowhere), toMutatingConfiguration(webhooks, nowhere))
    await ground.apply(...definitionsOf([officeComponent]).map(withoutConversion))
  })

  test('convert also the kinds of a desk that is off', async () => {
    const directory = join(ground.directory, 'certificates-for-converters')
    const caBundle = issue(directory)
    const options = { desks: 'capi', webhookPort: 0, webhookCertDir: directory }
    const replica = await start(options, desksWithConverter)
    await replica.said({ msg: 'webhooks are served with a new certificate' })
    const network = { apiVersion: 'toy.example.org/v1', kind: 'ToyNetwork', spec: { subnets: ['10.9.0.0/28'] } }
    const review = { request: { uid: 'u', desiredAPIVersion: 'toy.example.org/v0', objects: [network] } }
    const { text } = await post(replica, '/convert', caBundle, JSON.stringify(review))
    expect(JSON.parse(text).response).toMatchObject({
      result: { status: 'Success' },
      convertedObjects: [{ apiVersion: 'toy.example.org/v0', spec: { nets: ['10.9.0.0/28'] } }],
    })
  })

  /** What a client without a certificate is answered. */
  function post({ ports }: Replica, path: string, caBundle: string, body = '{}') {
    const ca = Buffer.from(caBundle, 'base64')
    const headers = { 'content-type': 'application/json' }
    const to = { host: '127.0.0.1', port: ports.webhooks, path, ca, headers, method: 'POST', agent: false }
    return new Promise<{ code: number | undefined; text: string }>((resolve, reject) => {
      const sent = request(to, response => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', chunk => {
          text += chunk
        })
        response.on('end', () => resolve({ code: response.statusCode, text }))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  const nowhere = { address: { kind: 'url', base: '', caBundle: '' } } as const

  /** What was applied with a converter has none again. */
  const withoutConversion = (definition: Definition) => {
    if (!needsConversion(definition, conversions)) return definition
    return { ...definition, spec: { ...definition.spec, conversion: { strategy: 'None' } } }
  }
})

describe('a controller for one namespace', () => {
  test('works with permissions in that namespace alone, and gives no claim an address that is held elsewhere', async () => {
    const everywhere = await start()
    const pool = aGlobalPool('shared', '10.3.0.0/24')
    const theirs = aClaim(elsewhere, 'theirs', pool)
    await ground.apply(pool, theirs)
    expect(await addressOf(ground.admin, theirs)).toBe('10.3.0.1')
    await everywhere.stop()

    const options = { ...plainInstall, namespace: 'one-system', namePrefix: 'one-', watchedNamespace: home }
    await installRoles(ground, options)
    const one = await aReplica(await ground.kubeconfigOf('one-system', 'one-controller'), { namespace: home })
    replicas.push(one)
    await one.untilReady()
    const ours = aClaim(home, 'ours', pool)
    const ignored = aClaim(elsewhere, 'ignored', pool)
    await ground.apply(ignored, ours)
    expect(await addressOf(ground.admin, ours)).toBe('10.3.0.2')
    expect(await ground.admin.get(claims, refOf(ignored))).not.toHaveProperty('status')
    // The hold of the claim that is in no cache is no stray.
    const { items } = await ground.admin.list(kindNamed('Hold'))
    expect(items).toContainEqual(
      expect.objectContaining({
        spec: expect.objectContaining({
          address: '10.3.0.1',
          claimRef: expect.objectContaining({ namespace: elsewhere, name: 'theirs' }),
        }),
        status: expect.objectContaining({ state: 'held' }),
      }),
    )
    expect(one.lines.filter(({ level }) => level === 'error')).toEqual([])
  })
})

describe('a controller with a watch filter', () => {
  test('serves claims with that label, leaves others alone, and does not take their holds for strays', async () => {
    const label = { 'cluster.x-k8s.io/watch-filter': 'blue' }
    const everything = await start()
    const pool = aPool(home, 'filtered', '10.4.0.0/24')
    const plain = aClaim(home, 'plain', pool)
    await ground.apply(pool, plain)
    expect(await addressOf(ground.admin, plain)).toBe('10.4.0.1')
    await everything.stop()

    const filtered = await start({ watchFilter: 'blue' })
    const unserved = aClaim(home, 'unserved', pool)
    const blue = aClaim(home, 'blue', pool, label)
    await ground.apply(unserved, blue)
    expect(await addressOf(ground.admin, blue)).toBe('10.4.0.2')
    expect(await ground.admin.get(claims, refOf(unserved))).not.toHaveProperty('status')
    expect(await addressOf(ground.admin, plain)).toBe('10.4.0.1')
    expect(filtered.lines.filter(({ level }) => level === 'error')).toEqual([])
  })
})

describe('diagnostics', () => {
  interface Answer {
    readonly code: number | undefined
    readonly text: string
  }

  function get(
    replica: Replica,
    path: string,
    token?: string,
    trust: object = { rejectUnauthorized: false },
  ): Promise<Answer> {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const port = replica.ports.diagnostics
    return new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, path, headers, agent: false, ...trust }, response => {
        let text = ''
        response.setEncoding('utf8').on('data', chunk => {
          text += chunk
        })
        response.on('end', () => resolve({ code: response.statusCode, text }))
      })
        .on('error', reject)
        .end()
    })
  }

  test('are for users with the permission to get that path', async () => {
    const replica = await start({ profiling: true })
    const reader = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: home, name: 'reader' } }
    await ground.apply(reader)
    const token = await ground.tokenOf(home, 'reader')
    expect(await get(replica, '/metrics')).toMatchObject({ code: 401 })
    expect(await get(replica, '/metrics', 'nonsense')).toMatchObject({ code: 401 })
    expect(await get(replica, '/metrics', token)).toMatchObject({ code: 403 })
    await ground.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'reader-of-metrics' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'mooring-metrics-reader' },
      subjects: [{ kind: 'ServiceAccount', namespace: home, name: 'reader' }],
    })
    await until('the reader may', async () => (await get(replica, '/metrics', token)).code === 200)
    expect((await get(replica, '/metrics', token)).text).toContain('process_')
    // Metrics are no reason to look into memory.
    expect(await get(replica, '/debug/pprof/heap', token)).toMatchObject({ code: 403 })
  })

  test('have the certificate of the webhooks, so that a reader knows to whom the token is shown', async () => {
    const certificates = join(ground.directory, 'shared-certificate')
    const host = 'mooring-metrics-service.mooring-system.svc'
    const replica = await start({ webhookPort: 0, webhookCertDir: certificates })
    for (const renewal of ['first', 'second']) {
      const { ca } = issueFiles(certificates, { dns: [host], ips: [] })
      const trust = { ca, servername: host }
      const isTrusted = () =>
        get(replica, '/metrics', undefined, trust).then(
          ({ code }) => code === 401,
          () => false,
        )
      await until(`the ${renewal} certificate is served`, isTrusted)
    }
  })
})
