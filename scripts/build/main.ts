// npm run build

import { fileURLToPath } from 'node:url'
import { buildProgram } from './program.ts'

await buildProgram(fileURLToPath(new URL('../../dist', import.meta.url)))
