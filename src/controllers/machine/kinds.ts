// The kinds of the machine desk, as a client needs to know them. What their objects mean is in `src/api`.

import { machineKind } from '../../api/machine.ts'
import { controlPlaneMachineSetKind, machineSetKind } from '../../api/machine-set.ts'
import { kindAs } from '../office/kinds.ts'

export { ipAddressClaims as claims, ipAddresses as reports, nodes, pods } from '../office/kinds.ts'

export const machines = kindAs(machineKind)
export const machineSets = kindAs(machineSetKind)
export const controlPlaneMachineSets = kindAs(controlPlaneMachineSetKind)
