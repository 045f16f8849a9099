// Tables with a header, as Excel and PowerShell write them: cells between commas, semicolons or tabs, quoted where they need it.

import { sourceFileCharsMax } from '../limits.ts'
import type { Faults } from './faults.ts'
import type { SourceFile } from './machine.ts'

export interface Table {
  readonly header: readonly string[]
  readonly rows: readonly Row[]
}

export interface Row {
  /** Where it begins, from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

/** Undefined where it is no table, which is noted. */
export function readTable({ text }: SourceFile, faults: Faults): Table | undefined {
  if (text.length > sourceFileCharsMax) {
    faults.add('', `it is longer than ${sourceFileCharsMax} characters: export fewer machines at a time`)
    return undefined
  }
  const records = readRecords(text.startsWith('\ufeff') ? text.slice(1) : text, faults)
  // PowerShell 5 puts the name of a class first.
  const [header, ...rows] = records[0]?.cells[0]?.startsWith('#TYPE ') ? records.slice(1) : records
  if (header === undefined) {
    faults.add('', 'it is empty: write a table with a header line')
    return undefined
  }
  const whole = rows.filter(({ line, cells }) => {
    if (cells.length === header.cells.length) return true
    faults.add(
      `line ${line}`,
      `it has ${cells.length} cells, but the header has ${header.cells.length}: write it again`,
    )
    return false
  })
  return { header: header.cells.map(cell => cell.trim()), rows: whole }
}

/** The one that the header has most of, outside of quotes. */
function delimiterOf(text: string): string {
  const lines = text.split('\n', 2)
  const header = (lines[0]?.startsWith('#TYPE ') ? lines[1] : lines[0]) ?? ''
  const bare = header.replace(/"[^"]*"/g, '')
  const counts = [',', ';', '\t'].map(mark => ({ mark, count: bare.split(mark).length }))
  return counts.reduce((one, other) => (other.count > one.count ? other : one)).mark
}

function readRecords(text: string, faults: Faults): Row[] {
  const delimiter = delimiterOf(text)
  const rows: Row[] = []
  let at = 0
  let line = 1
  while (at < text.length) {
    const begin = line
    const cells: string[] = []
    for (;;) {
      const cell = text[at] === '"' ? quoted(text, at) : bare(text, at, delimiter)
      if (cell === undefined) {
        faults.add(`line ${line}`, 'a quotation mark is not closed: write the file again')
        return rows
      }
      line += cell.lines
      cells.push(cell.text)
      at = cell.end
      if (text[at] !== delimiter) break
      at++
    }
    if (text[at] === '\r') at++
    if (at < text.length && text[at] !== '\n') {
      faults.add(`line ${line}`, 'text follows a closed quotation mark: write quotation marks inside of a cell twice')
      return rows
    }
    at++
    line++
    if (cells.length > 1 || cells[0] !== '') rows.push({ line: begin, cells })
  }
  return rows
}

interface Cell {
  readonly text: string
  /** What comes after it. */
  readonly end: number
  readonly lines: number
}

function bare(text: string, start: number, delimiter: string): Cell {
  let end = start
  while (end < text.length && text[end] !== delimiter && text[end] !== '\n') end++
  const isReturn = text[end - 1] === '\r' && end > start && text[end] !== delimiter
  return { text: text.slice(start, isReturn ? end - 1 : end), end, lines: 0 }
}

/** Undefined where it is not closed. */
function quoted(text: string, start: number): Cell | undefined {
  let close = start
  do {
    close = text.indexOf('"', close + 1)
    if (close === -1) return undefined
  } while (text[close + 1] === '"' && ++close)
  const inside = text.slice(start + 1, close)
  return { text: inside.replaceAll('""', '"'), end: close + 1, lines: inside.split('\n').length - 1 }
}
