// machine.control-plane - the Machines of a control plane are what its ControlPlaneMachineSet says, replaced one at a time.
//
// Reads:   the set, the Machines of its namespace, the failure domains of the Infrastructure; decides in control-plane.ts.
// Writes:  one Machine made, or one deleted, in a pass; the status of the set.
// Safe:    it is decided on what the API server lists. A Machine is deleted by uid and version, and only while its successor runs.

import type { ConditionFact } from '../../../api/condition.ts'
import { type Condition, setCondition } from '../../../api/condition.ts'
import type { ControlPlaneMachineSet } from '../../../api/machine-set.ts'
import { machineClusterLabel, machineRoleLabel } from '../../../api/names.ts'
import { ownText } from '../../../api/shape.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { timestamp } from '../../../kube/timestamp.ts'
import { done, type PassResult, requeue } from '../../../runtime/reconciler.ts'
import { readable } from '../../office/kept.ts'
import { isInScope } from '../../office/scope.ts'
import { controlPlaneMachineSets, machines } from '../kinds.ts'
import { type ControlPlaneSeen, type ControlPlaneStep, countControlPlane, decideControlPlane } from './control-plane.ts'
import { infrastructureName } from './failure-domains.ts'
import { removeMachine } from './machine-set.ts'
import { randomName, toMachine } from './new-machine.ts'
import { sayOfSet } from './status.ts'
import { askMachines, controlPlaneOf, infrastructureOf, machinesIn, type SetsWorld } from './world.ts'

export async function reconcileControlPlane(key: string, world: SetsWorld): Promise<PassResult> {
  const object = world.sets.controlPlanes.get(key)
  const set = readable(object, controlPlaneOf)
  if (object === undefined || set === undefined || !isInScope(world.scope, object)) return done()
  const { namespace } = set.metadata
  const seen = observe(world, set, machinesIn(world, namespace))
  let step = decideControlPlane(seen)
  if (isWrite(step)) {
    step = decideControlPlane(observe(world, set, await askMachines(world, namespace)))
    await carryOut(world, set, step, object)
  }
  await say(world, object, set, step)
  return isWrite(step) ? requeue() : done()
}

function observe(
  world: SetsWorld,
  set: ControlPlaneMachineSet,
  machines: ControlPlaneSeen['machines'],
): ControlPlaneSeen {
  const infrastructure = readable(world.sets.infrastructures.get(infrastructureName), infrastructureOf)
  const clusterName = infrastructure?.infrastructureName || (ownText(set.labels, machineClusterLabel) ?? '')
  return { set, machines, domains: infrastructure?.failureDomains ?? [], clusterName }
}

const isWrite = ({ do: what }: ControlPlaneStep): boolean => what === 'create' || what === 'delete'

async function carryOut(
  world: SetsWorld,
  set: ControlPlaneMachineSet,
  step: ControlPlaneStep,
  object: KubeObject,
): Promise<void> {
  const { client, caches, random, recorder, note } = world
  const tell = (reason: string, message: string) =>
    recorder.event({ about: object, type: 'Normal', reason, action: 'Replace', note: message })
  if (step.do === 'delete') {
    await removeMachine(world, step.machine)
    tell('MachineDeleted', step.why)
  }
  if (step.do !== 'create') return
  const { labels, annotations, machineSpec, metadata } = set
  const prefix = [ownText(labels, machineClusterLabel) ?? metadata.name, ownText(labels, machineRoleLabel) ?? 'master']
  const name = randomName(prefix.join('-'), random, `-${step.index}`)
  const spec = { ...machineSpec, providerSpec: { value: step.providerSpec } }
  try {
    const made = toMachine({ namespace: metadata.namespace, name, labels, annotations, spec })
    caches.machines.learn(await client.create(machines, made))
    note({ what: 'made', about: { kind: machines.kind, namespace: metadata.namespace, name }, message: step.why })
    tell('MachineCreated', `${name}: ${step.why}`)
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
  }
}

async function say(
  world: SetsWorld,
  object: KubeObject,
  set: ControlPlaneMachineSet,
  step: ControlPlaneStep,
): Promise<void> {
  const counts = countControlPlane(observe(world, set, machinesIn(world, set.metadata.namespace)))
  const { status } = object as { readonly status?: { readonly conditions?: readonly Condition[] } }
  const now = timestamp(world.clock)
  const isProgressing = isWrite(step) || counts.updatedReplicas < set.replicas || counts.replicas > set.replicas
  const facts: ConditionFact[] = [
    factOf(
      'Available',
      counts.unavailableReplicas === 0,
      'AllReplicasAvailable',
      'UnavailableReplicas',
      `${counts.readyReplicas} of ${set.replicas} Machines run`,
    ),
    factOf(
      'Degraded',
      step.do === 'refuse',
      'InvalidConfiguration',
      'AsExpected',
      step.do === 'refuse' ? step.why : '',
    ),
    factOf('Progressing', step.do !== 'refuse' && isProgressing, 'ReplacingMachines', 'AllReplicasUpdated', step.why),
  ]
  const conditions = facts.reduce((all, fact) => setCondition(all, fact, now), status?.conditions ?? [])
  const said = { ...counts, conditions, observedGeneration: set.metadata.generation }
  await sayOfSet(world, { kind: controlPlaneMachineSets, cache: world.sets.controlPlanes, object }, said)
}

function factOf(
  type: string,
  isTrue: boolean,
  reasonIfTrue: string,
  reasonIfFalse: string,
  message: string,
): ConditionFact {
  return { type, status: isTrue ? 'True' : 'False', reason: isTrue ? reasonIfTrue : reasonIfFalse, message }
}
