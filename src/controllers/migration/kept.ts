// What the caches of the desk keep of large objects: the fields that are read, where the objects have them. So what reads a whole
// object, which the API server answered, reads the same from what is kept of it.

import { networkStatusAnnotation, networksAnnotation } from '../../api/names.ts'
import { isRecord, ownText } from '../../api/shape.ts'
import type { KubeObject, ObjectMeta } from '../../kube/object.ts'
import { settingName, siblingSettings } from '../../migration/names.ts'

type Kept = KubeObject & { readonly spec?: object; readonly status: object }

/** Without its images, its volumes and its annotations, which are most of it. A node selector may name any of its labels. */
export function keepNode(object: KubeObject): Kept {
  const { conditions, addresses } = fieldsIn(object, 'status')
  const { labels, creationTimestamp } = object.metadata
  return {
    ...headOf(object, { ...(labels && { labels }), ...(creationTimestamp && { creationTimestamp }) }),
    status: {
      conditions: readyIn(conditions),
      addresses: recordsIn(addresses).flatMap(({ type, address }) =>
        type === 'InternalIP' ? [{ type, address }] : [],
      ),
    },
  }
}

/** Of where it went, what is told of it when it is over. Events are recorded about it. */
export function keepMigration(object: KubeObject): Kept {
  const { vmiName } = fieldsIn(object, 'spec')
  const status = fieldsIn(object, 'status')
  const { targetNode, targetNodeAddress, endTimestamp } = fieldsIn(status, 'migrationState')
  return {
    ...headOf(object),
    spec: { vmiName },
    status: { phase: status.phase, migrationState: { targetNode, targetNodeAddress, endTimestamp } },
  }
}

/** Of a pod of virt-handler. What its containers run, mount and ask for is not read. */
export function keepHandler(object: KubeObject): Kept {
  const { nodeName } = fieldsIn(object, 'spec')
  const { phase, conditions, containerStatuses } = fieldsIn(object, 'status')
  const { annotations = {} } = object.metadata
  const read = [networksAnnotation, networkStatusAnnotation].flatMap(name => {
    const text = ownText(annotations, name)
    return text === undefined ? [] : [[name, text]]
  })
  return {
    ...headOf(object, { annotations: Object.fromEntries(read) }),
    spec: { nodeName },
    status: {
      phase,
      conditions: readyIn(conditions),
      containerStatuses: recordsIn(containerStatuses).flatMap(one => {
        const { message } = fieldsIn(one.state, 'waiting')
        return typeof message === 'string' ? [{ state: { waiting: { message } } }] : []
      }),
    },
  }
}

const settingsRead: readonly string[] = [settingName, ...siblingSettings]

/**
 * Whole where it is read: the conditions of the desk's own are written back as one list, with fields of Harvester's in them. Of the
 * other Settings nothing is read, and some hold credentials: their names alone stay.
 */
export function keepSetting(object: KubeObject): KubeObject {
  return settingsRead.includes(object.metadata.name ?? '') ? object : headOf(object)
}

/** What every object has that is read. */
function headOf({ apiVersion, kind, metadata }: KubeObject, more: ObjectMeta = {}): KubeObject {
  const { name = '', namespace = '', uid = '', resourceVersion = '', deletionTimestamp } = metadata
  const head = { name, namespace, uid, resourceVersion, ...(deletionTimestamp && { deletionTimestamp }) }
  return { apiVersion: apiVersion ?? '', kind: kind ?? '', metadata: { ...head, ...more } }
}

const readyIn = (conditions: unknown) =>
  recordsIn(conditions).flatMap(({ type, status }) => (type === 'Ready' ? [{ type, status }] : []))

const recordsIn = (list: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(list) ? list.filter(isRecord) : []

/** Empty where there is no such object. */
function fieldsIn(object: unknown, key: string): Readonly<Record<string, unknown>> {
  const value = isRecord(object) && Object.hasOwn(object, key) ? object[key] : undefined
  return isRecord(value) ? value : {}
}
