// `npm run test:behaviours [-- --server=embedded|cluster] [--focus=TEXT] [FILE...]`: the behaviours of claims and pools on a
// server that runs by itself, with the desk in the process of the tests.

import { runSuite } from './suite.ts'

await runSuite({ config: 'vitest.behaviours.config.ts', serverVariable: 'MOORING_BEHAVIOURS_SERVER' })
