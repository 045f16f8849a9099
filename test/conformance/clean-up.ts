// A cluster that outlives the run is left as it was found.

import { afterAll, inject } from 'vitest'
import { made, server } from './world.ts'

afterAll(async () => {
  if (inject('server').isScratch) return
  for (const path of made.splice(0)) await server.delete(path)
})
