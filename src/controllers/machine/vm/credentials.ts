// How to log in to the vCenter of a Machine: from the Secret that the Machine names in its own namespace, by keys that begin with
// the name of the server, as OpenShift writes them. So a Machine can use no Secret that its author's namespace does not have; and a
// server that is not among those that the administrator named is not even looked up.
//
//   <server>.username     <server>.password     needed
//   <server>.thumbprint   <server>.ca           what makes its certificate trusted, where no known authority signed it

import { quoteText } from '../../../ip/malformed.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { Client } from '../../../kube/client.ts'
import { defineKind, type KubeObject } from '../../../kube/object.ts'
import type { VSphereTrust } from '../../../vsphere/trust.ts'
import type { VCenters } from '../../office/vcenters.ts'

export interface Credentials extends VSphereTrust {
  /** `namespace/secret server`: what a session is kept under. */
  readonly key: string
  /** Where the server is: `https://vcenter.example`. */
  readonly url: string
  /** Of the Secret: with another one the session begins anew. */
  readonly version: string
  readonly userName: string
  readonly password: string
}

/** Something that a person has to put right first; its message says what. */
export class NotConfigured extends Error {
  override readonly name = 'NotConfigured'
}

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

const secrets = defineKind<Secret>({ group: '', versions: ['v1'], plural: 'secrets', kind: 'Secret', namespaced: true })

export interface CredentialsOf {
  readonly namespace: string
  readonly secret: string
  readonly server: string
}

export async function readCredentials(
  client: Pick<Client, 'get'>,
  { namespace, secret, server }: CredentialsOf,
  { servers }: Pick<VCenters, 'servers'>,
): Promise<Credentials> {
  if (server === '') throw new NotConfigured('workspace.server names no vCenter')
  const host = servers.get(server)
  if (host === undefined) {
    const those = servers.size === 0 ? 'there are none' : [...servers.keys()].join(', ')
    throw new NotConfigured(
      `workspace.server names ${quoteText(server)}, which is none of the vCenters that the administrator lets machines use: ${those} (--vcenters)`,
    )
  }
  if (secret === '') throw new NotConfigured('credentialsSecret names no Secret')
  const data = await readSecret(client, namespace, secret, 'credentialsSecret')
  const [userName, password] = ['username', 'password'].map(key => data.texts.get(`${server}.${key}`))
  if (!userName || !password) {
    throw new NotConfigured(
      `Secret ${namespace}/${secret} has no ${server}.${userName ? 'password' : 'username'}: give it both ${server}.username and ${server}.password`,
    )
  }
  const [ca, thumbprint] = ['ca', 'thumbprint'].map(key => data.texts.get(`${server}.${key}`))
  return {
    key: `${namespace}/${secret} ${server}`,
    version: data.version,
    url: `https://${host}`,
    userName,
    password,
    ...(ca && { ca }),
    ...(thumbprint && { thumbprint }),
  }
}

/** What the system of a Machine is configured with at its first boot, in base64; undefined where the Machine names none. */
export async function readUserData(
  client: Pick<Client, 'get'>,
  namespace: string,
  secret: string,
): Promise<string | undefined> {
  if (secret === '') return undefined
  const { data } = await readSecret(client, namespace, secret, 'userDataSecret')
  const { userData } = data
  if (userData === undefined) throw new NotConfigured(`Secret ${namespace}/${secret} has no key userData`)
  return userData
}

async function readSecret(client: Pick<Client, 'get'>, namespace: string, name: string, field: string) {
  const found = await client.get(secrets, { namespace, name }).catch(error => {
    if (!isApiError(error, 'Forbidden')) throw error
    throw new NotConfigured(
      `Mooring may not read the Secret ${namespace}/${name} that ${field} names: give it the Role of docs/how-to/run-vsphere-machines.md in namespace ${namespace}`,
    )
  })
  if (found === undefined) throw new NotConfigured(`${field} names the Secret ${namespace}/${name}, which is not there`)
  const data = found.data ?? {}
  const texts = new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))
  return { data, texts, version: `${found.metadata.uid}/${found.metadata.resourceVersion}` }
}
