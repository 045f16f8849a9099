// What a controller does, it does a little later. Asks again until the answer is as expected, and fails with what was last
// seen when it never did.

import { setTimeout as delay } from 'node:timers/promises'

const patienceMs = 60_000

/** `look` answers with what is missing, or with nothing once it is there. */
export async function until(what: string, look: () => Promise<string | undefined>, ms = patienceMs): Promise<void> {
  const deadline = Date.now() + ms
  for (;;) {
    const missing = await look()
    if (missing === undefined) return
    if (Date.now() > deadline) throw new Error(`waited ${ms / 1000} s until ${what}, in vain: ${missing}`)
    await delay(200)
  }
}

/** Until the text is the expected one. */
export function untilSame(what: string, expected: string, look: () => Promise<string>, ms = patienceMs): Promise<void> {
  return until(
    what,
    async () => {
      const seen = await look()
      return seen === expected ? undefined : `expected ${expected}, saw ${seen}`
    },
    ms,
  )
}
