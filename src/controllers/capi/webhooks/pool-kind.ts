// The webhook of claims whose pool is of a kind that does not exist, and nearly one of ours. Such a claim is served by no
// provider and waits without a word; its author is told when they create it. It is a warning alone: kinds of other providers
// are theirs to judge.

import type { MatchCondition } from '../../../admission/match-conditions.ts'
import { allowed, type Ruling } from '../../../admission/ruling.ts'
import { type Fields, fieldOf, specOf } from '../../../admission/spec.ts'
import { claimablePoolKinds } from '../../../api/ip-address-claim.ts'
import { ipamGroup, mooringGroup } from '../../../api/names.ts'
import { isRecord } from '../../../api/shape.ts'
import { quoteText } from '../../../ip/malformed.ts'

const reference = 'object.spec.poolRef'
const isServed = claimablePoolKinds
  .map(({ group, kind }) => `${reference}.apiGroup == '${group}' && ${reference}.kind == '${kind}'`)
  .join(' || ')

/** How kinds of ours begin, also with a letter wrong: no other product has such a kind in a group that is alike. */
const mayBeMeant = `${reference}.apiGroup.contains('mooring') || ${reference}.kind.matches('(?i)^(global)?in.?clu')`
const isNearlyOurs = `${reference}.apiGroup.startsWith('${ipamGroup}') && ${reference}.kind.matches('(?i)^(cluster)?.?addr')`

/** A claim on a pool of ours, or of another provider, is created without a question. */
export const whenPoolIsOdd: readonly MatchCondition[] = [
  {
    name: 'pool-is-named',
    expression: `has(object.spec) && has(${reference}) && has(${reference}.apiGroup) && has(${reference}.kind)`,
  },
  { name: 'pool-is-not-served', expression: `!(${isServed})` },
  { name: 'pool-is-nearly-ours', expression: `${mayBeMeant} || ${isNearlyOurs}` },
]

export function warnOfPoolKind(object: unknown): Ruling {
  const poolRef = fieldOf(specOf(object), 'poolRef')
  const warning = isRecord(poolRef) ? warningAbout(poolRef) : undefined
  return allowed(warning === undefined ? [] : [`spec.poolRef: ${warning}`])
}

function warningAbout(poolRef: Fields): string | undefined {
  const [group, kind] = [fieldOf(poolRef, 'apiGroup'), fieldOf(poolRef, 'kind')]
  if (typeof group !== 'string' || typeof kind !== 'string') return undefined
  const kinds = claimablePoolKinds.filter(known => known.kind === kind)
  if (kinds.some(known => known.group === group)) return undefined
  const [named] = kinds
  // A kind of ours may be another product's too, in a group of its own.
  const isOurGroup = group.includes('mooring') || group.startsWith(ipamGroup)
  if (named !== undefined && (isOurGroup || named.group === ipamGroup)) {
    return `${named.kind} is a kind of ${named.group}, not of ${quoteText(group)}: no provider serves this claim`
  }
  if (!isOurGroup) return undefined
  const near = claimablePoolKinds.find(known => isNear(known.kind, kind))
  if (near === undefined && group !== mooringGroup) return undefined
  return `there is no kind ${quoteText(kind)} of pool in ${quoteText(group)}: ${meant(near)}`
}

function meant(near: { readonly group: string; readonly kind: string } | undefined): string {
  if (near !== undefined) return `did you mean ${near.kind} of ${near.group}?`
  const kinds = claimablePoolKinds.filter(({ group }) => group === mooringGroup).map(({ kind }) => kind)
  return `${mooringGroup} has ${kinds.join(' and ')}`
}

/** Alike but for case, and for at most two letters. */
function isNear(known: string, typed: string): boolean {
  const [a, b] = [known.toLowerCase(), typed.toLowerCase()]
  if (Math.abs(a.length - b.length) > lettersMax) return false
  // Rows of the table of edits from each beginning of `a` to each beginning of `b`.
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return (row[b.length] ?? 0) <= lettersMax
}

const lettersMax = 2
