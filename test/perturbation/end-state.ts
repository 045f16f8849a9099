// What is left at the end, told so that two runs can be compared: without uids, versions and times, with addresses that
// were nobody's wish called after their holders, and with claims that may swap roles called the same.

import { choiceOf, isBound, isLeaving, keyOf, type Observer, readyOf, type Stored } from './observer.ts'

export function endStateOf(observer: Observer, interchangeable: readonly string[] = []): string[] {
  const called = (key: string) => (interchangeable.includes(key.replace('default/', '')) ? 'default/somebody' : key)
  const lines: string[] = []
  for (const [key, pool] of observer.pools) lines.push(`${key}${leaving(pool)}`)
  for (const [key, claim] of observer.claims) {
    const ready = readyOf(claim.status?.conditions)
    const address = choiceOf(claim) === undefined ? 'no choice' : 'a choice'
    const bound = isBound(claim) ? 'bound' : `${ready?.status} ${ready?.reason}`
    const finalizers = (claim.metadata.finalizers ?? []).join(',')
    lines.push(`claim ${called(key)}: ${address}, ${bound}, finalizers [${finalizers}]${leaving(claim)}`)
  }
  for (const [key, report] of observer.reports) {
    const owners = report.metadata.ownerReferences?.map(({ kind }) => kind).join(',')
    const claim = observer.claims.get(key)
    const isOwn = claim !== undefined && choiceOf(claim) === report.spec?.address
    lines.push(
      `report ${called(key)}: ${isOwn ? 'shows the choice' : report.spec?.address}, of ${owners}${leaving(report)}`,
    )
  }
  for (const hold of observer.holds.values()) {
    const { claimRef } = hold.spec ?? {}
    const holder = `${claimRef?.namespace}/${claimRef?.name}`
    lines.push(
      `hold of ${called(holder)}: ${hold.status?.state}, finalizers [${hold.metadata.finalizers?.join()}]${leaving(hold)}`,
    )
  }
  return lines.toSorted()
}

const leaving = (object: Stored): string => (isLeaving(object) ? ', on its way out' : '')

/** What may not be left when everything has come to rest. */
export function leftovers(observer: Observer): string[] {
  const found: string[] = []
  for (const kept of [observer.claims, observer.reports, observer.holds, observer.pools, observer.namespaces]) {
    for (const object of kept.values()) if (isLeaving(object)) found.push(`${object.kind} ${keyOf(object)} never goes`)
  }
  for (const [name, { spec, status }] of observer.holds) {
    const claim = observer.claims.get(`${spec?.claimRef?.namespace}/${spec?.claimRef?.name}`)
    const isOf = claim !== undefined && claim.metadata.uid === spec?.claimRef?.uid
    if (status?.state === 'quarantined') found.push(`hold ${name} is quarantined for ever`)
    else if (!isOf) found.push(`hold ${name} has no claim`)
    else if (choiceOf(claim) !== spec?.address) found.push(`hold ${name} is not what its claim chose`)
  }
  for (const [key, report] of observer.reports) {
    const claim = observer.claims.get(key)
    const isOf = report.metadata.ownerReferences?.some(({ uid }) => uid === claim?.metadata.uid)
    if (claim === undefined || isOf !== true) found.push(`IPAddress ${key} has no claim`)
  }
  return found
}
