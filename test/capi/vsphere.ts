// The provider for vSphere makes a claim per pool for each network device of a machine, waits for the addresses, writes them
// into what the guest is booted with, and lets go of the claims when the machine is gone. It does not know that the addresses
// come from Mooring.

import type { Body, Client } from '../conformance/client.ts'
import { must } from './answers.ts'
import {
  addressPool,
  clusterAddressPool,
  createNamespace,
  createPool,
  holdsIn,
  list,
  type PoolRef,
  poolPath,
} from './ipam.ts'
import type { Management } from './management.ts'
import type { Sentences } from './sentences.ts'
import { until } from './until.ts'

const namespace = 'machines'
const cluster = 'green'
const core = '/apis/cluster.x-k8s.io/v1beta2/namespaces/machines'
const infrastructure = '/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/machines'

const small: PoolRef = { kind: addressPool, name: 'small' }
const wide: PoolRef = { kind: clusterAddressPool, name: 'wide' }

const patienceMs = 120_000

export async function checkVSphere(sentences: Sentences, { client }: Management, vcenter: string): Promise<void> {
  await createNamespace(client, namespace)
  await createPool(client, small, namespace, { addresses: ['10.8.0.10-10.8.0.11'], prefix: 24, gateway: '10.8.0.1' })
  await createPool(client, wide, namespace, { addresses: ['2001:db8:8::/64'], prefix: 64, gateway: '2001:db8:8::1' })
  await createCluster(client, vcenter)

  await sentences.it('two machines boot with one address of each family from their pools', async () => {
    for (const name of ['one', 'two']) await createMachine(client, name)
    const seen = [await addressesOfMachine(client, 'one'), await addressesOfMachine(client, 'two')]
    const expected = [await addressesOfClaims(client, 'one'), await addressesOfClaims(client, 'two')]
    expectSame('what the guests report', expected.join(' and '), seen.join(' and '))
    expectSame('how many addresses there are', 4, new Set(seen.join(' ').split(' ')).size)
  })

  await sentences.it('the provider says that their claims are fulfilled', async () => {
    await until('both conditions are true', async () => {
      const conditions = [await claimedCondition(client, 'one'), await claimedCondition(client, 'two')]
      return conditions.every(({ status }) => status === 'True') ? undefined : JSON.stringify(conditions)
    })
  })

  await sentences.it('a third machine waits while the pool is dry, and the provider says why', async () => {
    await createMachine(client, 'three')
    await until(
      'the reason is PoolExhausted',
      async () => {
        const condition = await claimedCondition(client, 'three')
        return condition.status === 'False' && condition.reason?.startsWith('PoolExhausted')
          ? undefined
          : JSON.stringify(condition)
      },
      patienceMs,
    )
  })

  await sentences.it('it goes on when the pool grows', async () => {
    const path = `${poolPath(small.kind, namespace)}/${small.name}`
    must(await client.merge(path, { spec: { addresses: ['10.8.0.10-10.8.0.19'] } }))
    const seen = await addressesOfMachine(client, 'three')
    expectSame('what the guest reports', await addressesOfClaims(client, 'three'), seen)
  })

  const freed = await addressesOfClaims(client, 'one')
  await sentences.it('a machine that is deleted gives its addresses back', async () => {
    must(await client.delete(`${core}/machines/one`))
    await untilGone(client, 'claims, addresses and holds of the machine', name => name.startsWith('one-'))
  })

  await sentences.it('the next one gets them', async () => {
    await createMachine(client, 'four')
    expectSame('its addresses', freed, await addressesOfMachine(client, 'four'))
  })

  await sentences.it('a Cluster that is deleted gives back all of them', async () => {
    must(await client.delete(`${core}/clusters/${cluster}`))
    await untilGone(client, 'all claims, addresses and holds', () => true)
  })
}

async function createCluster(client: Client, server: string): Promise<void> {
  must(
    await client.create(`${infrastructure}/vsphereclusters`, {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      kind: 'VSphereCluster',
      metadata: { name: cluster },
      spec: { server, controlPlaneEndpoint: { host: '127.0.0.1', port: 6443 } },
    }),
  )
  must(
    await client.create(`${core}/clusters`, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name: cluster },
      spec: { infrastructureRef: reference('VSphereCluster', cluster) },
    }),
  )
  await until(
    'the infrastructure of the Cluster is provisioned',
    async () => {
      const { status } = must(await client.get(`${core}/clusters/${cluster}`))
      const { initialization } = (status ?? {}) as { initialization?: { infrastructureProvisioned?: boolean } }
      return initialization?.infrastructureProvisioned ? undefined : JSON.stringify(status)
    },
    patienceMs,
  )
}

async function createMachine(client: Client, name: string): Promise<void> {
  const labels = { 'cluster.x-k8s.io/cluster-name': cluster }
  must(
    await client.create(`/api/v1/namespaces/${namespace}/secrets`, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${name}-bootstrap`, labels },
      type: 'cluster.x-k8s.io/secret',
      stringData: { value: '#cloud-config\n', format: 'cloud-config' },
    }),
  )
  must(
    await client.create(`${infrastructure}/vspheremachines`, {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
      kind: 'VSphereMachine',
      metadata: { name, labels },
      spec: {
        datacenter: 'DC0',
        datastore: 'LocalDS_0',
        folder: '/DC0/vm',
        resourcePool: '/DC0/host/DC0_C0/Resources',
        template: 'DC0_C0_RP0_VM0',
        cloneMode: 'fullClone',
        network: {
          devices: [
            {
              networkName: 'DC0_DVPG0',
              addressesFromPools: [small, wide].map(({ kind, name }) => ({
                apiGroup: kind.apiVersion.split('/')[0],
                kind: kind.kind,
                name,
              })),
            },
          ],
        },
      },
    }),
  )
  must(
    await client.create(`${core}/machines`, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Machine',
      metadata: { name, labels },
      spec: {
        clusterName: cluster,
        bootstrap: { dataSecretName: `${name}-bootstrap` },
        infrastructureRef: reference('VSphereMachine', name),
      },
    }),
  )
}

function reference(kind: string, name: string) {
  return { apiGroup: 'infrastructure.cluster.x-k8s.io', kind, name }
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

async function machineVM(client: Client, name: string): Promise<Body | undefined> {
  const { code, body } = await client.get(`${infrastructure}/vspherevms/${name}`)
  return code === 200 ? body : undefined
}

/** What the provider has to say about the claims of a machine. */
async function claimedCondition(client: Client, name: string): Promise<Condition> {
  const { conditions = [] } = ((await machineVM(client, name))?.status ?? {}) as { conditions?: Condition[] }
  return conditions.find(({ type }) => type === 'IPAddressClaimed') ?? { type: 'IPAddressClaimed', status: 'missing' }
}

/** What the guest of the machine reported to the vCenter, and the provider saw there. */
async function addressesOfMachine(client: Client, name: string): Promise<string> {
  let addresses: string[] = []
  await until(
    `the guest of ${name} has its addresses`,
    async () => {
      const vm = await machineVM(client, name)
      const status = (vm?.status ?? {}) as { ready?: boolean; addresses?: string[]; conditions?: Condition[] }
      // The simulator shows the device of the template twice.
      addresses = [...new Set(status.addresses)]
      return status.ready && addresses.length === 2 ? undefined : JSON.stringify(status)
    },
    patienceMs,
  )
  return addresses.toSorted().join(' ')
}

async function addressesOfClaims(client: Client, name: string): Promise<string> {
  const reports = await list(client, 'ipaddresses', namespace)
  const own = reports.filter(({ metadata }) => metadata.name.startsWith(`${name}-`))
  return own
    .map(({ spec }) => String(spec.address))
    .toSorted()
    .join(' ')
}

async function untilGone(client: Client, what: string, isMeant: (claim: string) => boolean): Promise<void> {
  await until(
    `${what} are gone`,
    async () => {
      const left: string[] = []
      for (const plural of ['ipaddressclaims', 'ipaddresses'] as const) {
        for (const { metadata } of await list(client, plural, namespace)) {
          if (isMeant(metadata.name)) left.push(`${plural}/${metadata.name}`)
        }
      }
      for (const row of await holdsIn(client, namespace)) {
        if (isMeant(row.split('/')[1]?.split(' ')[0] ?? '')) left.push(`hold ${row}`)
      }
      return left.length === 0 ? undefined : left.join(', ')
    },
    patienceMs,
  )
}

function expectSame(what: string, expected: string | number, seen: string | number): void {
  if (seen !== expected) throw new Error(`${what}: expected ${expected}, saw ${seen}`)
}
