// Which desks run: what `--desks` says, judged by the table of desks.

import { desks } from '../controllers/desks.ts'
import { exitCodes, Failure } from './failure.ts'

export const deskNames: readonly string[] = desks.map(({ name }) => name)

/** The flag's text, from the table: `capi (IPAddressClaims of Cluster API get an IPAddress)`. */
export const desksHelp: string = desks.map(({ name, about }) => `${name} (${about})`).join(', ')

/** `none` is for `mooring up`: the API server alone. */
export function parseDesks(list: string, isNoneAllowed = false): readonly string[] {
  if (isNoneAllowed && list === 'none') return []
  const names = [...new Set(list.split(','))]
  const unknown = names.filter(name => !deskNames.includes(name))
  if (unknown.length === 0) return names
  const known = isNoneAllowed ? [...deskNames, 'none'] : deskNames
  throw new Failure(
    exitCodes.usage,
    `--desks does not know ${unknown.map(name => JSON.stringify(name)).join(', ')}`,
    `It takes a list of: ${known.join(', ')}.`,
  )
}
