// Which desks run: what `--desks` says, judged by the table of desks.

import type { Desk } from '../controllers/desk.ts'
import { desks as table } from '../controllers/desks.ts'
import { exitCodes, Failure } from './failure.ts'

export const deskNames: readonly string[] = table.map(({ name }) => name)

/** The flag's text, from the table: `capi (IPAddressClaims of Cluster API get an IPAddress)`. */
export const desksHelp: string = table.map(({ name, about }) => `${name} (${about})`).join(', ')

export interface ParseDesksOptions {
  /** `none` is for `mooring up`: the API server alone. */
  readonly isNoneAllowed?: boolean
  /** Which desks there are: by default those of the table. */
  readonly desks?: readonly Pick<Desk, 'name'>[]
}

export function parseDesks(list: string, options: ParseDesksOptions = {}): readonly string[] {
  const { isNoneAllowed = false, desks = table } = options
  if (isNoneAllowed && list === 'none') return []
  const names = [...new Set(list.split(','))]
  const there = desks.map(({ name }) => name)
  if (isNoneAllowed && names.includes('none')) {
    const what = `--desks is ${JSON.stringify(list)}, but none does not go together with desks`
    throw new Failure(exitCodes.usage, what, `Write none alone, or a list of: ${there.join(', ')}.`)
  }
  const unknown = names.filter(name => !there.includes(name))
  if (unknown.length === 0) return names
  const known = isNoneAllowed ? [...there, 'none'] : there
  throw new Failure(
    exitCodes.usage,
    `--desks does not know ${unknown.map(name => JSON.stringify(name)).join(', ')}`,
    `It takes a list of: ${known.join(', ')}.`,
  )
}
