// extension-authentication - extension API servers read in one ConfigMap by which certificate they know this server, and in which
// headers it names the user of a request. What others changed in it is put right; keys of others are left alone.

import { certificateCheckMs } from '../../limits.ts'
import { identityHeaders } from '../aggregation/headers.ts'
import type { World } from '../call.ts'
import { frontProxyName } from '../certificates/keep.ts'
import type { Resource } from '../kinds/registry.ts'
import type { LocalClient } from '../local-client.ts'
import { isObject } from '../object.ts'
import { getObject } from '../objects.ts'
import { isStatus } from '../status.ts'
import type { Controller, OnError } from './controller.ts'
import { createWorker } from './worker.ts'

const [namespace, name] = ['kube-system', 'extension-apiserver-authentication']

export interface Authorities {
  /** Of clients of this server. PEM, both. */
  readonly ca: () => string
  /** Of the certificate that this server shows to extension API servers. */
  readonly frontProxyCA: () => string
}

export function createExtensionAuthentication(
  { store }: Pick<World, 'store'>,
  client: LocalClient,
  configMaps: Resource,
  { ca, frontProxyCA }: Authorities,
  onError: OnError,
): Controller {
  const worker = createWorker(settle, onError)
  let stop = () => {}

  async function settle(key: string): Promise<void> {
    const wanted: Record<string, string> = {
      'client-ca-file': ca(),
      'requestheader-client-ca-file': frontProxyCA(),
      'requestheader-allowed-names': JSON.stringify([frontProxyName]),
      'requestheader-username-headers': JSON.stringify([identityHeaders.user]),
      'requestheader-group-headers': JSON.stringify([identityHeaders.group]),
      'requestheader-extra-headers-prefix': JSON.stringify([identityHeaders.extraPrefix]),
    }
    const found = getObject(store, configMaps, namespace, name)
    const data = isObject(found?.data) ? found.data : {}
    try {
      if (found === undefined) {
        const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name }, data: wanted }
        await client.create({ resource: configMaps, namespace }, object)
      } else if (Object.entries(wanted).some(([field, value]) => data[field] !== value)) {
        await client.mergePatch({ resource: configMaps, namespace, name }, { data: wanted })
      }
    } catch (error) {
      if (!isStatus(error, 'AlreadyExists') && !isStatus(error, 'NotFound')) throw error
      worker.mark(key)
    }
    // Authorities are renewed while the server runs.
    worker.markLater(key, certificateCheckMs)
  }

  return {
    start() {
      const watch = store.watch(`${configMaps.keyPrefix}${namespace}/${name}`, store.revision, ({ entry }) => {
        if (entry.key === `${configMaps.keyPrefix}${namespace}/${name}`) worker.mark(name)
      })
      stop = () => watch.stop()
      worker.mark(name)
    },
    stop() {
      stop()
      worker.stop()
    },
  }
}
