// The account that an agent has in a cluster: the shipped role and no more, by a token that is bound to a pod on its node, under the
// shipped policy.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { plainInstall, toAdmissionPolicies, toNodeAgent } from '../../scripts/config/manifests.ts'
import { readKubeconfig } from '../../scripts/real/kubeconfig.ts'
import { must } from '../capi/answers.ts'
import { connect } from '../conformance/client.ts'
import { tokenKubeconfig } from '../harness/token-kubeconfig.ts'
import { apply } from '../kubevirt/apply.ts'

const namespace = 'mooring-node'
const account = 'mooring-node'

/** Role, bindings, and the policy that holds writes against the node of a token; all that is installed but the DaemonSet. */
export async function installAccount(kubeconfig: string): Promise<void> {
  const client = connect(kubeconfig)
  await apply(client, ...toNodeAgent(plainInstall).filter(({ kind }) => kind !== 'DaemonSet'))
  const isOfNodes = ({ metadata }: { metadata: { name: string } }) => metadata.name.endsWith('ipamclaim-node')
  const policies = toAdmissionPolicies({ ...plainInstall, on: ['vm'] }) as unknown as { metadata: { name: string } }[]
  await apply(client, ...policies.filter(isOfNodes))
}

/** As the kubelet of the node asks for it, for the pod of the DaemonSet. The path of a kubeconfig with the token. */
export async function accountOf(node: string, kubeconfig: string, into: string): Promise<string> {
  const client = connect(kubeconfig)
  const pod = must(
    await client.create(`/api/v1/namespaces/${namespace}/pods`, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `${account}-${node}` },
      spec: {
        nodeName: node,
        serviceAccountName: account,
        automountServiceAccountToken: false,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'node', image: 'mooring' }],
      },
    }),
  )
  const { name, uid } = pod.metadata
  const { status } = must(
    await client.create(`/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3_600, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid } },
    }),
  )
  const { server, ca = '' } = readKubeconfig(kubeconfig)
  const { token } = status as { token: string }
  const file = join(into, `${node}.kubeconfig`)
  writeFileSync(file, tokenKubeconfig({ server, ca }, account, token, namespace), { mode: 0o600 })
  return file
}
