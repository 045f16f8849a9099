// Opens one damaged copy after another and says what it found; a crash of the process is part of the answer.

import { verdictOf } from './store-verdict.ts'

const [root = '', first = '0', count = '0'] = process.argv.slice(2)

for (let at = Number(first); at < Number(count); at += 1) {
  process.send?.({ at, verdict: 'began' })
  process.send?.({ at, verdict: await verdictOf(`${root}/${at}`) })
}
process.disconnect()
