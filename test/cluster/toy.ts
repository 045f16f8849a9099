// The toy desk on a server that runs by itself: that a desk under test is a desk like any other there too.

import { run as runBehaviours } from './capi.ts'

export const run = (args: string[]): Promise<void> => runBehaviours([...args, 'test/toy-desk/toy.test.ts'])
