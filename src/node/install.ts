// The plugin in the CNI directory of the node: put there by the node's process, and taken away again. It is renamed into place, so
// that there is no moment in which a runtime finds none, or half of one; one that is there and the same stays.

import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { mooringIPAMType } from '../networks/mooring-config.ts'

/** Runtimes look for the plugin under the type that the network configuration names. */
const pluginIn = (directory: string): string => join(directory, mooringIPAMType)

export function installPlugin(plugin: string, directory: string): 'installed' | 'there already' {
  mkdirSync(directory, { recursive: true })
  const place = pluginIn(directory)
  if (existsSync(place) && readFileSync(place).equals(readFileSync(plugin))) return 'there already'
  // Beside it, in the same file system: only there a rename is one step.
  const beside = `${place}.new`
  rmSync(beside, { force: true })
  copyFileSync(plugin, beside)
  chmodSync(beside, 0o755)
  renameSync(beside, place)
  return 'installed'
}

/** Also where it is not there. */
export function uninstallPlugin(directory: string): void {
  rmSync(pluginIn(directory), { force: true })
  rmSync(`${pluginIn(directory)}.new`, { force: true })
}
