// A program with the permissions of a service account and no others.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readKubeconfig } from '../../scripts/real/kubeconfig.ts'
import { must } from '../capi/answers.ts'
import type { Client } from '../conformance/client.ts'
import { tokenKubeconfig } from '../harness/token-kubeconfig.ts'

interface Administered {
  readonly dir: string
  readonly kubeconfig: string
  readonly client: Client
}

export interface Account {
  readonly namespace: string
  readonly name: string
}

/** The path of a kubeconfig with a token of the account. */
export async function kubeconfigOf(
  { dir, kubeconfig, client }: Administered,
  { namespace, name }: Account,
): Promise<string> {
  const { status } = must(
    await client.create(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3_600 },
    }),
  )
  const { server, ca = '' } = readKubeconfig(kubeconfig)
  const { token } = status as { token: string }
  const file = join(dir, `${name}.kubeconfig`)
  writeFileSync(file, tokenKubeconfig({ server, ca }, name, token, namespace), { mode: 0o600 })
  return file
}
