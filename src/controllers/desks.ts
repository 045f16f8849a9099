// The table of desks. A desk is its folder and a line here; flags, permissions, webhooks, definitions, checks and pages follow.

import { capi } from './capi/desk.ts'
import type { Desk } from './desk.ts'
import { imports } from './import/desk.ts'
import { machine } from './machine/desk.ts'
import { migration } from './migration/desk.ts'
import { vm } from './vm/desk.ts'

export const desks: readonly Desk[] = [capi, vm, imports, machine, migration]
