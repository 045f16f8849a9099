// Files in the order of how long they take on a server, so that no worker is left with a long one at the end.

import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longest = ['versions', 'pools', 'restarts', 'watched', 'claims', 'hands', 'pool-status', 'paused']

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = longest.findIndex(name => moduleId.endsWith(`/${name}.test.ts`))
  return place < 0 ? longest.length : place
}
