// Selectors inside objects: well formed, and matching the template they belong to.

import { at, child, type Fault, forbidden, invalid, required } from '../faults.ts'
import { checkLabels } from '../metadata.ts'
import { checkLabelValue, checkQualifiedName } from '../names.ts'
import { fromLabelSelectorObject, type LabelSelectorObject, SelectorError } from '../selectors/labels.ts'
import { type Fields, items, part, text, textMap, texts } from './fields.ts'

export function checkSelector(selector: Fields | undefined, path: string): Fault[] {
  if (selector === undefined) return []
  const faults = checkLabels(textMap(selector.matchLabels), child(path, 'matchLabels'))
  for (const [i, expression] of items(selector.matchExpressions).entries()) {
    faults.push(...checkExpression(expression, at(child(path, 'matchExpressions'), i)))
  }
  return faults
}

function checkExpression(expression: Fields, path: string): Fault[] {
  const values = texts(expression.values)
  const faults: Fault[] = []
  switch (expression.operator) {
    case 'In':
    case 'NotIn':
      if (values.length > 0) break
      faults.push(required(child(path, 'values'), "must be specified when `operator` is 'In' or 'NotIn'"))
      break
    case 'Exists':
    case 'DoesNotExist':
      if (values.length === 0) break
      faults.push(
        forbidden(child(path, 'values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      )
      break
    default:
      faults.push(invalid(child(path, 'operator'), text(expression.operator), 'not a valid selector operator'))
  }
  for (const complaint of checkQualifiedName(text(expression.key))) {
    faults.push(invalid(child(path, 'key'), text(expression.key), complaint))
  }
  for (const [i, value] of values.entries()) {
    for (const complaint of checkLabelValue(value)) {
      faults.push(invalid(at(child(path, 'values'), i), value, complaint))
    }
  }
  return faults
}

export function isEmptySelector(selector: Fields): boolean {
  return Object.keys(textMap(selector.matchLabels)).length + items(selector.matchExpressions).length === 0
}

/** Undefined when the selector cannot be understood; its faults are told by `checkSelector`. */
export function selects(selector: Fields | undefined, labels: Record<string, string>): boolean | undefined {
  try {
    return fromLabelSelectorObject(selector as LabelSelectorObject | undefined).matches(labels)
  } catch (error) {
    if (error instanceof SelectorError) return undefined
    throw error
  }
}

export const labelsOfTemplate = (template: Fields | undefined): Record<string, string> =>
  textMap(part(template, 'metadata')?.labels)
