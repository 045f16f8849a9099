// Files that take long come first, so that no worker is left with one of them at the end.

import { BaseSequencer, type TestSequencerConstructor, type TestSpecification } from 'vitest/node'

/** `longest` names them, the longest first; the others follow in the order of Vitest. */
export function longestFirst(longest: readonly string[]): TestSequencerConstructor {
  const placeOf = ({ moduleId }: TestSpecification): number => {
    const place = longest.findIndex(name => moduleId.endsWith(`/${name}.test.ts`))
    return place < 0 ? longest.length : place
  }
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b))
    }
  }
}
