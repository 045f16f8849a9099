// Which objects a list, a watch or a deletecollection is about: by label, by field, by the name in the path.

import type { Call } from '../call.ts'
import type { KubeObject } from '../object.ts'
import { parseFieldSelector } from '../selectors/fields.ts'
import { parseLabelSelector } from '../selectors/labels.ts'
import { badRequest } from '../status.ts'

export interface Selection {
  /** Nothing is filtered: stored bytes can be sent without looking inside. */
  readonly isEverything: boolean
  /** The one name that can match, when the selector pins it. */
  readonly name: string | undefined
  readonly matches: (object: KubeObject) => boolean
}

export function readSelection(call: Call): Selection {
  const { query, name, namespace } = call.request
  const labelText = query.get('labelSelector') ?? ''
  const fieldText = query.get('fieldSelector') ?? ''
  const pinned = name === '' ? undefined : name
  if (labelText === '' && fieldText === '') {
    return {
      isEverything: pinned === undefined,
      name: pinned,
      matches: object => pinned === undefined || object.metadata.name === pinned,
    }
  }
  const labels = orBadRequest(() => parseLabelSelector(labelText))
  const fields = orBadRequest(() => parseFieldSelector(fieldText, call.served.kind))
  if (pinned !== undefined && fields.exactName !== undefined && fields.exactName !== pinned) {
    throw badRequest(`fieldSelector metadata.name doesn't match requested name`)
  }
  const inNamespace = (object: KubeObject) => namespace === '' || (object.metadata.namespace ?? namespace) === namespace
  return {
    isEverything: false,
    name: pinned ?? fields.exactName,
    matches: object =>
      (pinned === undefined || object.metadata.name === pinned) &&
      inNamespace(object) &&
      labels.matches(object.metadata.labels ?? {}) &&
      fields.matches(object),
  }
}

function orBadRequest<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (error instanceof Error && error.name === 'SelectorError') throw badRequest(error.message)
    throw error
  }
}
