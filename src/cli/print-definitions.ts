// `mooring definitions`: the definitions of kinds that a desk needs and that no product of the cluster may have brought.

import { desks as table } from '../controllers/desks.ts'
import { ownDefinitionsOf } from './definitions.ts'
import { parseDesks } from './desks.ts'
import { exitCodes, Failure } from './failure.ts'

/** As YAML, for `kubectl create -f -`. */
export function printDefinitions(list: string, print: (text: string) => void, desks = table): void {
  const names = parseDesks(list, { desks })
  const texts = desks.filter(({ name }) => names.includes(name)).flatMap(ownDefinitionsOf)
  if (texts.length > 0) return print(texts.map(({ text }) => text.trimEnd()).join('\n---\n'))
  const ready = desks.filter(desk => ownDefinitionsOf(desk).length > 0).map(({ name }) => name)
  throw new Failure(
    exitCodes.usage,
    `there is nothing to print for ${names.join(', ')}: its kinds come with the product that it serves`,
    `There are definitions for: ${ready.join(', ')}.`,
  )
}
