// ObjectMeta as a schema: what a custom kind's `metadata` may hold, whatever its own schema says about it.

import type { Schema } from './schema.ts'

const text: Schema = { type: 'string' }
const textMap: Schema = { type: 'object', additionalProperties: text }
const time: Schema = { type: 'string', format: 'date-time', nullable: true }

export const objectMetaSchema: Schema = {
  type: 'object',
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: text,
    resourceVersion: text,
    generation: { type: 'integer', format: 'int64' },
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: { type: 'integer', format: 'int64' },
    labels: textMap,
    annotations: textMap,
    ownerReferences: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          apiVersion: text,
          kind: text,
          name: text,
          uid: text,
          controller: { type: 'boolean' },
          blockOwnerDeletion: { type: 'boolean' },
        },
      },
    },
    finalizers: { type: 'array', items: text },
    managedFields: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          manager: text,
          operation: text,
          apiVersion: text,
          time,
          fieldsType: text,
          fieldsV1: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          subresource: text,
        },
      },
    },
  },
}
