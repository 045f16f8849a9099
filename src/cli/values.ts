// Values of flags that more than one command takes.

import { exitCodes, Failure } from './failure.ts'

/** An empty text would be the current directory: it comes from a variable of a script that is not set. */
export function parsePath(name: string, text: string): string {
  if (text !== '') return text
  throw new Failure(exitCodes.usage, `${name} is empty`, 'Write a path; for the current directory, write a dot.')
}

/** Empty stands for the default, as where a manifest leaves it to a variable. */
export function parseNamespace(name: string, text: string): string {
  if (text === '' || /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) return text
  const what = `${name} is ${JSON.stringify(text)}, which is not the name of a namespace`
  throw new Failure(exitCodes.usage, what, `Write lower-case letters, digits and "-", as in ${name} default.`)
}
