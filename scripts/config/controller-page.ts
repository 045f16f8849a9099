// The parts of docs/reference/controller.md that are made from the table of desks: which desks there are, and what the controller
// may do: a table for the office, for each desk, for the election and for the diagnostics.

import { fullPermissionSets, permissionSets } from '../../src/cli/permissions.ts'
import type { Permission, PermissionScope } from '../../src/controllers/component.ts'
import type { Desk } from '../../src/controllers/desk.ts'
import { officeComponent } from '../../src/controllers/office/component.ts'

/** The page with its tables made anew. */
export function withMadeTables(page: string, desks: readonly Desk[]): string {
  return replace(replace(page, 'desks', toDeskTable(desks)), 'permissions', toSections(desks))
}

function replace(page: string, part: string, text: string): string {
  const begin = `<!-- ${part}: written by \`npm run config\` -->`
  const end = `<!-- end of ${part} -->`
  const [before, rest] = page.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`the page has no ${begin} and ${end}`)
  return `${before}${begin}\n\n${text}\n${end}${after}`
}

function toDeskTable(desks: readonly Desk[]): string {
  const rows = desks.map(({ name, about, kinds }) => {
    const needed = kinds.filter(({ isNeeded }) => isNeeded)
    return [code(name), about, needed.map(({ kind, comesWith }) => `${code(kind.kind)} (${comesWith})`).join(', ')]
  })
  return toTable([['desk', 'what it does', 'kinds it needs, and what brings them'], ...rows])
}

function toSections(desks: readonly Desk[]): string {
  const on = desks.map(({ name }) => name)
  const about = new Map([officeComponent, ...desks].map(component => [component.name, component.about]))
  const sections = permissionSets(desks, on).map(({ name, permissions }) => {
    const title = on.includes(name) ? `The desk ${name}` : `The ${name}`
    const sentence = about.has(name) ? `${title}: ${about.get(name)}.` : `${title}.`
    return toSection(sentence, permissions)
  })
  const full = fullPermissionSets(desks, on).map(({ name, permissions }) =>
    toSection(`The desk ${name} with \`--machine-mode=full\`, besides.`, permissions),
  )
  return [...sections, ...full].join('\n')
}

const toSection = (sentence: string, permissions: readonly Permission[]): string =>
  `${sentence}\n\n${toTable([head, ...permissions.map(toRow)])}`

const head = ['resource', 'group', 'verbs', 'where', 'without it', 'needed']

const places: Readonly<Record<PermissionScope, string>> = {
  cluster: 'cluster',
  watched: 'where claims are',
  own: 'own namespace',
  machines: 'where Machines are',
}

function toRow({ resources, group, verbs, scope, names, without, isNeeded, isForSeeing }: Permission): string[] {
  return [
    resources.map(code).join(', '),
    group === '' ? 'core' : code(group),
    verbs.join(' '),
    [places[scope], ...(names ?? []).map(name => `only ${code(name)}`)].join(', '),
    without,
    isForSeeing ? 'always' : isNeeded ? 'yes' : 'no',
  ]
}

const code = (text: string): string => `\`${text}\``

function toTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map(row => row[at]?.length ?? 0)))
  const toLine = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |\n`
  const [first = [], ...rest] = rows
  return [first, widths.map(width => '-'.repeat(width)), ...rest].map(toLine).join('')
}
