// The disk of a node, in memory.

import type { StateDisk } from '../../src/node/state.ts'

export function memoryState(): StateDisk & { readonly files: Map<string, string> } {
  const files = new Map<string, string>()
  return {
    files,
    read: () => [...files],
    write: (name, text) => void files.set(name, text),
    remove: name => void files.delete(name),
  }
}
