// The directory that the state of the node is kept in. No other user may read it: which pod has which address is theirs alone.

import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StateDisk } from './state.ts'

const suffix = '.json'
const unfinished = '.new'

export function openStateDirectory(directory: string): StateDisk {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  chmodSync(directory, 0o700)
  return {
    *read() {
      for (const name of readdirSync(directory)) {
        if (name.endsWith(unfinished)) rmSync(join(directory, name), { force: true })
        else if (name.endsWith(suffix)) yield [name, readFileSync(join(directory, name), 'utf8')]
      }
    },
    write(name, text) {
      const path = join(directory, name)
      writeFileSync(`${path}${unfinished}`, text, { mode: 0o600 })
      renameSync(`${path}${unfinished}`, path)
    },
    remove: name => rmSync(join(directory, name), { force: true }),
  }
}
