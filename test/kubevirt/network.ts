// Virtual machines migrate over a network of their own: what Mooring writes to the KubeVirt object, KubeVirt's own definition and
// webhooks take; and no migration begins while virt-operator, which is played here, rolls the change out.

import { must } from '../capi/answers.ts'
import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import type { Body, Client } from '../conformance/client.ts'
import { apply } from './apply.ts'
import { kubevirtNamespace, sayReady } from './install.ts'
import { createMigration, untilMigration } from './migrations.ts'
import { createSite, createVM, kubevirt, type Site, untilRunning } from './vms.ts'

const kubeVirtPath = `/apis/kubevirt.io/v1/namespaces/${kubevirtNamespace}/kubevirts/kubevirt`
const networkPath = '/apis/mooring.dev/v1alpha1/migrationnetworks/vm-migration-network'
const attachmentsPath = `/apis/k8s.cni.cncf.io/v1/namespaces/${kubevirtNamespace}/network-attachment-definitions`

export async function checkNetwork(sentences: Sentences, client: Client): Promise<void> {
  const site = await createSite(client, 'network')
  await createVM(site, 'moves')
  await untilRunning(site, 'moves')
  const before = must(await client.get(kubeVirtPath))

  await sentences.it('KubeVirt takes the network that Mooring writes, and keeps what else it is told', async () => {
    await apply(client, {
      apiVersion: 'mooring.dev/v1alpha1',
      kind: 'MigrationNetwork',
      metadata: { name: 'vm-migration-network' },
      spec: { bridge: 'br-migration', vlan: 100, range: '10.77.0.0/24', ipam: 'mooring' },
    })
    await untilNetwork(client, /^vm-migration-network-/)
    const { migrations, ...others } = configurationOf(must(await client.get(kubeVirtPath)))
    const { migrations: _, ...expected } = configurationOf(before)
    if (JSON.stringify(others) !== JSON.stringify(expected)) throw new Error(`it has ${JSON.stringify(others)}`)
    const made = must(await client.get(`${attachmentsPath}/${migrations?.network}`))
    const config = String(made.spec.config)
    if (JSON.parse(config).bridge !== 'br-migration') throw new Error(config)
  })

  await sentences.it('every node holds an address of it before KubeVirt was told', async () => {
    const { items: nodes } = must(await client.get('/api/v1/nodes'))
    const { items: holds } = must(await client.get('/apis/mooring.dev/v1alpha1/holds'))
    for (const { metadata } of nodes) {
      const own = holds.filter(({ spec }) => {
        const { kind, uid } = spec.claimRef as { kind?: string; uid?: string }
        return kind === 'Node' && uid === metadata.uid
      })
      if (own.length !== 1) throw new Error(`node ${metadata.name} holds ${own.length}`)
    }
  })

  await sentences.it('a migration is refused until the operator has taken the change in', async () => {
    await refused(site, 'early', /has not taken in the last change yet/)
  })

  await sentences.it('a migration is refused while the operator rolls the change out', async () => {
    await saysOfItself(client, 'UpdateInProgress')
    await refused(site, 'meanwhile', /with reason UpdateInProgress/)
  })

  await sentences.it('a migration goes on when all components are ready', async () => {
    await sayReady(client)
    await until('the gate is open', async () => {
      const answer = await create(site, 'later')
      return answer.code === 201 ? undefined : answer.text
    })
    await untilMigration(site, 'later', 'Succeeded')
  })

  await sentences.it('a network that is taken back leaves KubeVirt as it was, and nothing of itself', async () => {
    must(await client.delete(networkPath))
    await untilNetwork(client, /^$/)
    await sayReady(client)
    await until('the MigrationNetwork is gone', async () => {
      const { code } = await client.get(networkPath)
      return code === 404 ? undefined : String(code)
    })
    const { items } = must(await client.get(attachmentsPath))
    if (items.length > 0) throw new Error(`left: ${items.map(({ metadata }) => metadata.name).join()}`)
    await createMigration(site, 'moves', 'at-last')
    await untilMigration(site, 'at-last', 'Succeeded')
  })
}

interface Configuration {
  readonly migrations?: { readonly network?: string }
}

const configurationOf = ({ spec }: Body): Configuration => spec.configuration as Configuration

const create = (site: Site, name: string) =>
  site.client.create(`${kubevirt(site)}/virtualmachineinstancemigrations`, {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstanceMigration',
    metadata: { name, namespace: site.namespace },
    spec: { vmiName: 'moves' },
  })

async function refused(site: Site, name: string, why: RegExp): Promise<void> {
  await until(`a migration is refused: ${why}`, async () => {
    const { code, text } = await create(site, name)
    if (code === 201) throw new Error('it was let in')
    return code === 400 && why.test(text) ? undefined : `${code} ${text}`
  })
}

const saysOfItself = async (client: Client, reason: string) => {
  const conditions = [{ type: 'Available', status: 'True', reason }]
  must(await client.merge(`${kubeVirtPath}/status`, { status: { conditions } }))
}

async function untilNetwork(client: Client, expected: RegExp): Promise<void> {
  await until(`KubeVirt migrates over ${expected}`, async () => {
    const network = configurationOf(must(await client.get(kubeVirtPath))).migrations?.network ?? ''
    if (expected.test(network)) return undefined
    const { status } = (await client.get(networkPath)).body ?? {}
    return `${network}; ${JSON.stringify(status)}`
  })
}
