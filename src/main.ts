#!/usr/bin/env node
// Where the program begins. An old Node would stumble over something that it does not have, with a stack; so the version is
// looked at before anything else is imported.

import { whyTooOld } from './cli/node-version.ts'

const why = whyTooOld(process.versions.node)
if (why !== undefined) {
  console.error(why)
  process.exit(3)
}
// Whatever this process or a library in it makes is for its user alone.
process.umask(0o077)
const args = process.argv.slice(2)
if (args[0] === 'node') {
  const { runNodeCommand } = await import('./cli/node-command.ts')
  await runNodeCommand(args)
} else {
  const { runProgram } = await import('./cli/program.ts')
  await runProgram(args)
}
