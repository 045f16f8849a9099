// Behaviours that one of the servers cannot have, each with its reason. Printed at the end of every run and shown to
// users in docs/reference/conformance.md. A skip whose test no longer exists fails the run.

import type { ServerName } from './server.ts'

export interface Skip {
  readonly name: string
  readonly server: ServerName
  readonly because: string
}

export const skips: readonly Skip[] = []
