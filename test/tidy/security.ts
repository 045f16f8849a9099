// SECURITY.md as data: the rows of its tables, and the tests that they name as `file`: "title".

export interface Citation {
  readonly file: string
  /** The title of a test, or the fixed part of one that a table makes. */
  readonly title: string
}

/** The cells of the rows below the heading, the row of dashes and that of the names left out. */
export function rowsBelow(page: string, heading: string): string[][] {
  const [, section = ''] = page.split(`\n${heading}\n`)
  const [chapter = ''] = section.split(/^#{1,6} /m)
  const lines = chapter.split('\n').filter(line => line.startsWith('|'))
  return lines.slice(2).map(line =>
    line
      .slice(1, -1)
      .split(' | ')
      .map(cell => cell.trim()),
  )
}

export function citationsIn(cell: string): Citation[] {
  const cited = [...cell.matchAll(/`([^`\s]+\.ts)`: ("[^"]+"(?:, "[^"]+")*)/g)]
  return cited.flatMap(([, file = '', titles = '']) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({ file, title })),
  )
}

/** Files that are named as if they were tests, and with no title. */
export function bareFilesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`\s]+\.ts)`(?!: ")/g)].map(([, file = '']) => file)
}

export const hasDocument = (cell: string): boolean => /\]\([^)]+\.md(?:#[^)]*)?\)/.test(cell)

/** Undefined where the title stands in the file, in a text and not in a comment. */
export function whyNotShown({ file, title }: Citation, sourceOf: (file: string) => string | undefined) {
  const source = sourceOf(file)
  if (source === undefined) return `${file} is not there`
  const isShown = [title, title.replaceAll("'", "\\'")].some(text => source.split('\n').some(line => says(line, text)))
  return isShown ? undefined : `${file} has no test "${title}"`
}

function says(line: string, text: string): boolean {
  const before = line.slice(0, Math.max(0, line.indexOf(text)))
  return line.includes(text) && /['"`]/.test(before) && !/^\s*(?:\/\/|\*)/.test(before)
}
