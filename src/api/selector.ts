// Label selectors, as Kubernetes has them: every label and every expression has to agree, and one that asks for nothing
// agrees with everything.

import { oneOf, ownText, requiredText, type Shape, shapesOf, textMapOf, textsOf } from './shape.ts'

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const

export interface Requirement {
  readonly key: string
  readonly operator: (typeof operators)[number]
  readonly values: readonly string[]
}

export interface LabelSelector {
  readonly matchLabels: Readonly<Record<string, string>>
  readonly matchExpressions: readonly Requirement[]
}

export function selectorOf(shape: Shape): LabelSelector {
  return {
    matchLabels: textMapOf(shape, 'matchLabels'),
    matchExpressions: shapesOf(shape, 'matchExpressions').map(requirement => ({
      key: requiredText(requirement, 'key'),
      operator: oneOf(requirement, 'operator', operators, 'In'),
      values: textsOf(requirement, 'values'),
    })),
  }
}

export const selectsAll = ({ matchLabels, matchExpressions }: LabelSelector): boolean =>
  Object.keys(matchLabels).length === 0 && matchExpressions.length === 0

export function selects(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const agrees = Object.entries(selector.matchLabels).every(([key, value]) => ownText(labels, key) === value)
  return agrees && selector.matchExpressions.every(requirement => isMet(requirement, labels))
}

function isMet({ key, operator, values }: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const value = ownText(labels, key)
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
  }
}
