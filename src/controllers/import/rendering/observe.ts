// Everything that one decision about a (Cluster)UserDefinedNetwork needs, gathered from caches. Nothing is asked or written.

import { primaryNetworkLabel } from '../../../api/names.ts'
import { selects } from '../../../api/selector.ts'
import type { UserDefinedNetwork } from '../../../api/user-defined-network.ts'
import { isDeleting } from '../../../kube/finalizers.ts'
import type { Kind, KubeObject } from '../../../kube/object.ts'
import { isOVN } from '../../../networks/attachment.ts'
import { readable } from '../../office/kept.ts'
import { attachmentOf } from '../../office/parsed.ts'
import { type Caches, controllerOf, type ImportWorld, ownerKey } from '../world.ts'
import type { Place } from './plan.ts'

type World = Pick<ImportWorld, 'caches'>

/** What was made of it, and of others that had its name before. */
export function attachmentsOf(kind: Kind, key: string, { caches }: World): readonly KubeObject[] {
  return caches.rendered.byIndex('owner', ownerKey(kind, key))
}

export const isMadeOf = (attachment: KubeObject, uid: string | undefined): boolean =>
  controllerOf(attachment)?.uid === uid

export function placesOf(udn: UserDefinedNetwork, made: readonly KubeObject[], { caches }: World): Place[] {
  const targets = new Set(targetsOf(udn, caches))
  const byNamespace = new Map(made.map(one => [one.metadata.namespace ?? '', one]))
  const all = [...new Set([...targets, ...byNamespace.keys()])].toSorted()
  return all.map(namespace => {
    const labels = caches.namespaces.get(namespace)?.metadata.labels ?? {}
    const attachment = byNamespace.get(namespace)
    const there = caches.attachments.get(`${namespace}/${udn.metadata.name}`)
    return {
      namespace,
      isTarget: targets.has(namespace),
      isElsewhere: !isFor(udn, namespace, { caches }),
      hasPrimaryLabel: Object.hasOwn(labels, primaryNetworkLabel),
      attachment,
      hasForeign: there !== undefined && !isMadeOf(there, udn.metadata.uid),
      otherPrimary: otherPrimaryIn(namespace, udn, caches),
    }
  })
}

/** Whether the namespace is one of the network, by what it says now. */
export function isFor({ metadata, namespaceSelector }: UserDefinedNetwork, namespace: string, { caches }: World) {
  if (namespaceSelector === undefined) return namespace === metadata.namespace
  const there = caches.namespaces.get(namespace)
  return there !== undefined && selects(namespaceSelector, there.metadata.labels ?? {})
}

function targetsOf(udn: UserDefinedNetwork, caches: Caches): string[] {
  const all = udn.namespaceSelector === undefined ? [udn.metadata.namespace] : caches.namespaces.keys()
  return [...all].filter(name => {
    const namespace = caches.namespaces.get(name)
    return namespace !== undefined && !isDeleting(namespace) && isFor(udn, name, { caches })
  })
}

function otherPrimaryIn(namespace: string, { metadata }: UserDefinedNetwork, { attachments }: Caches) {
  const others = attachments.byIndex('namespace', namespace).filter(object => {
    const attachment = readable(object, attachmentOf)
    const isPrimary = attachment !== undefined && isOVN(attachment) && attachment.reading.config.isPrimary
    return isPrimary && object.metadata.name !== metadata.name
  })
  return others.map(({ metadata: { name = '' } }) => name).toSorted()[0]
}
