// The part of a kubeconfig that a test needs: the server, the authority to trust, and the user.

import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'

export interface Access {
  readonly server: string
  readonly ca?: string
  readonly token?: string
  readonly cert?: string
  readonly key?: string
}

type Entry = Record<string, string | undefined>
interface File {
  'current-context'?: string
  contexts?: { name: string; context: { cluster: string; user: string } }[]
  clusters?: { name: string; cluster: Entry }[]
  users?: { name: string; user: Entry }[]
}

export function readKubeconfig(path: string): Access {
  const file = parse(readFileSync(path, 'utf8')) as File
  const context = file.contexts?.find(one => one.name === file['current-context'])?.context
  const cluster = file.clusters?.find(one => one.name === context?.cluster)?.cluster
  const user = file.users?.find(one => one.name === context?.user)?.user ?? {}
  if (!cluster?.server) throw new Error(`${path} names no server in its current context`)
  const pem = (entry: Entry, field: string): string | undefined => {
    const data = entry[`${field}-data`]
    if (data) return Buffer.from(data, 'base64').toString('utf8')
    const named = entry[field]
    return named ? readFileSync(resolve(dirname(path), named), 'utf8') : undefined
  }
  const ca = pem(cluster, 'certificate-authority')
  const cert = pem(user, 'client-certificate')
  const key = pem(user, 'client-key')
  return {
    server: cluster.server,
    ...(ca && { ca }),
    ...(user.token && { token: user.token }),
    ...(cert && { cert }),
    ...(key && { key }),
  }
}
