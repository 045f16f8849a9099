// What the token of an agent is worth to a thief: nothing on any other node.

import { nodeLabel } from '../../src/api/names.ts'
import { ipamClaims } from '../../src/controllers/office/kinds.ts'
import { must } from '../capi/answers.ts'
import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import { connect } from '../conformance/client.ts'
import { same } from './forwarder.ts'
import { addNetwork, Guest, home, type World } from './world.ts'

const claimsPath = `/apis/k8s.cni.cncf.io/v1alpha1/namespaces/${home}/ipamclaims`

export async function checkStolenToken(sentences: Sentences, world: World): Promise<void> {
  const [a, b] = world.agents
  const network = 'guarded'
  await addNetwork(world, network, {
    plugins: [{ type: 'bridge', bridge: 'br0', ipam: { type: 'mooring', ranges: ['10.84.0.0/24'] } }],
  })
  const stolen = connect(a.kubeconfig)
  const aClaim = (name: string, node: string) => ({
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { name, labels: { [nodeLabel]: node } },
    spec: { network, interface: 'net1' },
  })
  const other = await Guest.make(world, b, network)
  await other.add()
  const { items } = await world.client.list(ipamClaims, { namespace: home })
  const isOfOther = ({ uid }: { readonly uid: string }) => uid === other.pod.metadata.uid
  const claim = items.find(({ metadata }) => metadata.ownerReferences?.some(isOfOther))?.metadata.name ?? ''

  await sentences.it('the token of a node makes claims for its own node', async () => {
    must(await stolen.create(claimsPath, aClaim('own', a.node.name)))
    must(await stolen.delete(`${claimsPath}/own`))
  })

  await sentences.it('it makes none for another node', async () => {
    await until('the policy is in force', async () => {
      const { code, text } = await stolen.create(`${claimsPath}?dryRun=All`, aClaim('stolen', b.node.name))
      return code >= 400 && text.includes('its token is bound to') ? undefined : `${code}: ${text}`
    })
  })

  await sentences.it('it can neither change nor delete the claim of a pod on another node', async () => {
    const path = `${claimsPath}/${claim}`
    for (const labels of [{ [nodeLabel]: a.node.name }, { [nodeLabel]: null }, { more: 'x' }]) {
      const { code, text } = await stolen.merge(path, { metadata: { labels } })
      if (code < 400 || !text.includes('its token is bound to')) throw new Error(`${code}: ${text}`)
    }
    const { code, text } = await stolen.delete(path)
    if (code < 400 || !text.includes('its token is bound to')) throw new Error(`${code}: ${text}`)
    await other.check()
  })

  await sentences.it('it writes no pod, no hold and no status', async () => {
    const pod = `/api/v1/namespaces/${home}/pods/${other.pod.metadata.name}`
    const forbidden = [
      await stolen.merge(pod, { metadata: { annotations: { 'k8s.v1.cni.cncf.io/networks': '[]' } } }),
      await stolen.merge(`${claimsPath}/${claim}/status`, { status: { ips: ['10.84.0.99/24'] } }),
      await stolen.delete('/apis/mooring.dev/v1alpha1/holds/any'),
      await stolen.get('/api/v1/secrets'),
    ]
    same(
      forbidden.map(({ code }) => code),
      [403, 403, 403, 403],
    )
  })

  await other.end()
}
