// The CEL of Kubernetes 1.35: the language, its libraries, and no access to anything but the variables.

import { Environment } from '@marcbachmann/cel-js'
import type { Duration } from '@marcbachmann/cel-js/evaluator'
import { comprehensions } from './library/comprehensions.ts'
import { formats } from './library/formats.ts'
import { define, neverNull } from './library/library.ts'
import { lists } from './library/lists.ts'
import { network } from './library/network.ts'
import { quantities, versions } from './library/quantity.ts'
import { strings } from './library/strings.ts'

let base: Environment | undefined

/** A fresh environment with every library; variables and types are the caller's to add. */
export function newEnvironment(): Environment {
  base ??= makeBase()
  return base.clone()
}

function makeBase(): Environment {
  const environment = new Environment({
    enableOptionalTypes: true,
    // The arguments of `format` are of many types, and the list that holds them looks like any other.
    homogeneousAggregateLiterals: false,
    limits: { maxDepth: 250, maxListElements: 10_000, maxMapEntries: 10_000 },
  })
  for (const library of [strings, lists, network, quantities, versions, formats, comprehensions]) library(environment)
  for (const type of ['optional', 'google.protobuf.Timestamp', 'google.protobuf.Duration']) neverNull(environment, type)
  define(environment, 'string(google.protobuf.Timestamp): string', (time: Date) =>
    time.toISOString().replace(/\.000Z$/, 'Z'),
  )
  define(environment, 'string(google.protobuf.Duration): string', (duration: Duration) => duration.toString())
  define(environment, 'int(google.protobuf.Timestamp): int', (time: Date) => BigInt(Math.floor(time.getTime() / 1000)))
  define(environment, 'timestamp(google.protobuf.Timestamp): google.protobuf.Timestamp', (time: Date) => time)
  define(environment, 'duration(google.protobuf.Duration): google.protobuf.Duration', (duration: Duration) => duration)
  return environment
}
