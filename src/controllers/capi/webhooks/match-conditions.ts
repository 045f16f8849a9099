// What the API server looks at in claims and addresses of Cluster API before it asks us, in CEL.

export const namesNoGroup =
  "(!has(object.spec) || !has(object.spec.poolRef) || !has(object.spec.poolRef.apiGroup) || object.spec.poolRef.apiGroup == '')"

/** It has an address, and says so. */
export function isBound(claim: string): string {
  const { status, addressRef } = { status: `${claim}.status`, addressRef: `${claim}.status.addressRef` }
  return `(has(${status}) && has(${addressRef}) && has(${addressRef}.name) && ${addressRef}.name != '')`
}
