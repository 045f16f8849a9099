// A directory for the builds that the tests of this run share: it ends with the run.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    builds: string
  }
}

export default function setup(project: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'mooring-builds-'))
  project.provide('builds', directory)
  return () => rmSync(directory, { recursive: true })
}
