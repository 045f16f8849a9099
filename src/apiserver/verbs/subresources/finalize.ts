// `namespaces/NAME/finalize`: the only subresource that changes `spec.finalizers` of a namespace.

import { readObject } from '../../body.ts'
import type { Answer, Call, World } from '../../call.ts'
import { isObject } from '../../object.ts'
import { readWriteOptions } from '../../options.ts'
import { changeObject } from '../change.ts'

export async function finalizeNamespace(call: Call, world: World): Promise<Answer> {
  const options = readWriteOptions(call.request.query, 'UpdateOptions')
  const source = { bytes: call.body, contentType: call.headers.contentType }
  const wanted = readObject(call.served, source, options.fieldValidation, call.warn)
  const spec = isObject(wanted.spec) ? wanted.spec : {}
  return changeObject(call, world, {
    options,
    transform: namespace => {
      const { resourceVersion, uid } = wanted.metadata
      if (resourceVersion) namespace.metadata.resourceVersion = resourceVersion
      if (uid) namespace.metadata.uid = uid
      const finalizers = Array.isArray(spec.finalizers) ? spec.finalizers : []
      return { ...namespace, spec: finalizers.length > 0 ? { finalizers } : {} }
    },
  })
}
