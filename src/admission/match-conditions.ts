// What the API server looks at before it asks us, in CEL. A condition that cannot be evaluated is a request that fails, so each
// reads only what is there: an object need have no annotations, no status and, in its older versions, no spec.

/** False where the answer would be yes, without a warning: then the webhook is not asked. */
export interface MatchCondition {
  readonly name: string
  readonly expression: string
}

/** What an annotation says; empty where there is none. */
function annotation(object: string, key: string): string {
  const all = `${object}.metadata.annotations`
  return `(has(${all}) && '${key}' in ${all} ? ${all}['${key}'] : '')`
}

/** Also with nothing in it. */
export const carries = (object: string, key: string): string =>
  `(has(${object}.metadata.annotations) && '${key}' in ${object}.metadata.annotations)`

export const hasAnnotation = (object: string, key: string): string => `${annotation(object, key)} != ''`

export const annotationChanges = (key: string): string =>
  `${annotation('object', key)} != ${annotation('oldObject', key)}`

export const isCreated = 'oldObject == null'

export const specChanges =
  '(has(object.spec) != has(oldObject.spec) || has(object.spec) && object.spec != oldObject.spec)'
