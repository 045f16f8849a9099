// The table of desks, with one more line.

import type { Desk } from '../../src/controllers/desk.ts'
import { desks } from '../../src/controllers/desks.ts'
import { toy } from './desk.ts'

export const desksWithToy: readonly Desk[] = [...desks, toy]
