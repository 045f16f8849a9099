// `npm run test:conformance [-- --server=embedded|cluster] [--focus=TEXT] [FILE...]`: one suite of API behaviours,
// against the embedded server or a real kube-apiserver.

import { runSuite } from './suite.ts'

await runSuite({
  config: 'vitest.conformance.config.ts',
  serverVariable: 'MOORING_CONFORMANCE_SERVER',
  onPart: () => {
    process.env.MOORING_CONFORMANCE_PARTIAL = 'yes'
  },
})
