// Opens the directory that it is told, and says what it found.

import { verdictOf } from '../robustness/store-verdict.ts'

process.on('message', async (dir: string) => process.send?.(await verdictOf(dir)))
