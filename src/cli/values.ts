// Values of flags that more than one command takes.

import { type Command, Option } from 'commander'
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

/** A flag that names a file or a directory. */
export function path(flag: string, about: string): Option {
  const [name = flag] = flag.split(' ')
  return new Option(flag, about).argParser(text => parsePath(name, text))
}

/** A flag that may be said more than once. */
export function listOf(flag: string, about: string): Option {
  return new Option(flag, `${about}; may be said again`)
    .default([], 'none')
    .argParser((text: string, before: readonly string[]) => [...before, text])
}

/** A command about objects of one namespace of a cluster. */
export function onCluster(command: Command): Command {
  return command
    .addOption(
      new Option('-n, --namespace <namespace>', 'the namespace')
        .default('', 'that of the context')
        .argParser(text => parseNamespace('--namespace', text)),
    )
    .addOption(
      path('--kubeconfig <file>', 'how to reach the cluster (default: the account of the pod, else what kubectl uses)'),
    )
    .option('--context <name>', 'the context of the kubeconfig')
}

/** Refuses a form of the answer that the command does not have. */
export function refuseOutput(output: string, known: readonly string[]): void {
  if (known.includes(output)) return
  const what = `--output does not know ${JSON.stringify(output)}`
  throw new Failure(exitCodes.usage, what, `It takes one of: ${known.join(', ')}.`)
}
