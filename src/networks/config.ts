// `spec.config` of a NetworkAttachmentDefinition: the configuration of one CNI plugin, or of a list of them, as a JSON text that
// any user of a namespace may write. It is bounded before it is read.

import { isRecord, ownText, pathTo, type Shape } from '../api/shape.ts'
import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import { JSONSyntaxError, parseJSON, showHidden } from '../json.ts'
import { configCharsMax, configItemsMax } from '../limits.ts'

export interface Plugin {
  readonly value: Readonly<Record<string, unknown>>
  /** Where it stands: `spec.config`, or `spec.config.plugins[1]`. */
  readonly place: string
}

export interface Config {
  /** One, unless it is a list. */
  readonly plugins: readonly Plugin[]
  /** What the list says for all of its plugins; the plugin itself where there is no list. */
  readonly list: Readonly<Record<string, unknown>>
}

const place = 'spec.config'

export function readConfig(text: string): Config | Malformed {
  if (text.length > configCharsMax) {
    return { malformed: `${place} has ${text.length} characters: at most ${configCharsMax} are read` }
  }
  const value = toValue(text)
  if (isMalformed(value)) return value
  if (!isRecord(value)) return { malformed: `${place} is no JSON object: write the configuration of a CNI plugin` }
  const { plugins } = value
  if (plugins === undefined || plugins === null) return { plugins: [{ value, place }], list: value }
  if (!Array.isArray(plugins)) return { malformed: `${place}.plugins is not a list` }
  if (plugins.length > configItemsMax) {
    return { malformed: `${place}.plugins has ${plugins.length} items: at most ${configItemsMax} are read` }
  }
  const known = plugins.flatMap((one, i) => (isRecord(one) ? [{ value: one, place: `${place}.plugins[${i}]` }] : []))
  return { plugins: known, list: value }
}

function toValue(text: string): unknown | Malformed {
  try {
    const { value, duplicates } = parseJSON(text)
    if (duplicates.length === 0) return value
    return { malformed: `${place} says ${quoteText(duplicates[0] ?? '')} twice: programs differ in which one counts` }
  } catch (error) {
    if (!(error instanceof JSONSyntaxError)) throw error
    return { malformed: `${place} is no JSON: ${showHidden(error.message)}` }
  }
}

/** A text of a plugin; undefined where it has none, or something else. */
export function plainText(value: unknown, key: string): string | undefined {
  if (!isRecord(value)) return undefined
  const text = ownText(value as Readonly<Record<string, string>>, key)
  return typeof text === 'string' ? text : undefined
}

/** The items of a list that is written as one text, with commas between. */
export function itemsOf(shape: Shape, key: string): readonly string[] {
  const text = plainText(shape.value, key)
  if (text === undefined || text.trim() === '') return []
  const items = text.split(',').map(item => item.trim())
  if (items.length <= configItemsMax) return items
  shape.faults.push(`${pathTo(shape, key)} has ${items.length} items: at most ${configItemsMax} are read`)
  return []
}
