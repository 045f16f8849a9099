// Files that take long come first, so that no worker is left with one of them at the end.

import { BaseSequencer, type TestSequencerConstructor, type TestSpecification } from 'vitest/node'

/** `longest` names them, the longest first; the others follow in the order of Vitest, and those of `last` after all others, in their own order. */
export function longestFirst(longest: readonly string[], last: readonly string[] = []): TestSequencerConstructor {
  const placeOf = ({ moduleId }: TestSpecification): number => {
    const isNamed = (name: string) => moduleId.endsWith(`/${name}.test.ts`)
    const fromEnd = last.findIndex(isNamed)
    if (fromEnd >= 0) return longest.length + 1 + fromEnd
    const place = longest.findIndex(isNamed)
    return place < 0 ? longest.length : place
  }
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b))
    }
  }
}
