// How commands show lists of things: columns under a head, and numbers with their noun.

import { showHidden } from '../json.ts'

export const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`

/** A name in a file may have line ends and commands for a terminal in it: they are printed as what they are. */
export const shown = (text: string): string => showHidden(JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"'))

/** Nothing where there are no rows. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return []
  const all = [head, ...rows.map(row => row.map(shown))]
  const widths = head.map((_, i) => Math.max(...all.map(row => (row[i] ?? '').length)))
  return all.map(row =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
