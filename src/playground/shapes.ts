// What the playground reads and writes of KubeVirt's objects, of pods and of nodes, in the words of their own fields. The
// definitions under `config/crd/kubevirt` check the types of these fields, and real KubeVirt does so with its own.

import type { KubeObject } from '../kube/object.ts'

interface Anything {
  readonly [field: string]: unknown
}

export interface Interface extends Anything {
  readonly name: string
  readonly macAddress?: string
  readonly state?: string
  readonly bridge?: object
  readonly sriov?: object
}

export interface Network extends Anything {
  readonly name: string
  readonly pod?: object
  readonly multus?: { readonly networkName: string; readonly default?: boolean }
}

export interface InstanceSpec extends Anything {
  readonly domain?: Anything & { readonly devices?: Anything & { readonly interfaces?: readonly Interface[] } }
  readonly networks?: readonly Network[]
  readonly hostname?: string
  readonly terminationGracePeriodSeconds?: number
  readonly nodeSelector?: Readonly<Record<string, string>>
}

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string | null
}

export interface PhaseTransition {
  readonly phase: string
  readonly phaseTransitionTimestamp: string
}

export interface InterfaceStatus extends Anything {
  readonly name?: string
}

export interface MigrationState extends Anything {
  readonly migrationUid?: string
  readonly sourceNode?: string
  readonly sourcePod?: string
  readonly targetNode?: string
  readonly targetPod?: string
  readonly targetNodeAddress?: string
  readonly targetNodeDomainReadyTimestamp?: string
  readonly startTimestamp?: string
  readonly endTimestamp?: string
  readonly completed?: boolean
  readonly failed?: boolean
  readonly failureReason?: string
}

export interface InstanceStatus extends Anything {
  readonly phase?: string
  readonly phaseTransitionTimestamps?: readonly PhaseTransition[]
  readonly nodeName?: string
  readonly activePods?: Readonly<Record<string, string>>
  readonly interfaces?: readonly InterfaceStatus[]
  readonly conditions?: readonly Condition[]
  readonly migrationState?: MigrationState
}

/** VirtualMachineInstance. */
export interface Instance extends KubeObject {
  readonly spec?: InstanceSpec
  readonly status?: InstanceStatus
}

export type RunStrategy = 'Always' | 'Halted' | 'Manual' | 'RerunOnFailure'

export interface StateChangeRequest {
  readonly action: 'Start' | 'Stop'
  /** Of the instance that is to be stopped. */
  readonly uid?: string
}

export interface StartFailure {
  readonly consecutiveFailCount: number
  readonly lastFailedVMIUID: string
  readonly retryAfterTimestamp: string
}

export interface MachineStatus extends Anything {
  readonly created?: boolean
  readonly ready?: boolean
  readonly printableStatus?: string
  readonly runStrategy?: string
  readonly conditions?: readonly Condition[]
  readonly stateChangeRequests?: readonly StateChangeRequest[] | null
  readonly startFailure?: StartFailure | null
}

/** VirtualMachine. */
export interface Machine extends KubeObject {
  readonly spec?: Anything & {
    readonly runStrategy?: string
    readonly running?: boolean
    readonly template?: {
      readonly metadata?: {
        readonly labels?: Readonly<Record<string, string>>
        readonly annotations?: Readonly<Record<string, string>>
      }
      readonly spec?: InstanceSpec
    }
  }
  readonly status?: MachineStatus
}

/** VirtualMachineInstanceMigration. */
export interface Migration extends KubeObject {
  readonly spec?: { readonly vmiName?: string }
  readonly status?: {
    readonly phase?: string
    readonly phaseTransitionTimestamps?: readonly PhaseTransition[]
    readonly migrationState?: MigrationState
  }
}

interface Container extends Anything {
  readonly name: string
  readonly image?: string
}

export interface Pod extends KubeObject {
  readonly spec?: Anything & {
    readonly nodeName?: string
    readonly nodeSelector?: Readonly<Record<string, string>>
    readonly containers?: readonly Container[]
  }
  readonly status?: Anything & {
    readonly phase?: string
    readonly podIP?: string
    readonly conditions?: readonly Condition[]
    readonly containerStatuses?: readonly Anything[]
  }
}

export interface Node extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean }
  readonly status?: Anything & { readonly conditions?: readonly Condition[] }
}

export interface NetworkAttachment extends KubeObject {
  readonly spec?: { readonly config?: string }
}

export interface AddressClaim extends KubeObject {
  readonly status?: { readonly ips?: readonly string[] }
}

/** Hold: an address that Mooring has given out. */
export interface LedgerHold extends KubeObject {
  readonly spec?: {
    readonly address?: string
    readonly claimRef?: { readonly kind?: string; readonly name?: string }
    readonly poolRef?: { readonly name?: string }
  }
  readonly status?: { readonly state?: string }
}

export interface KubeVirt extends KubeObject {
  readonly spec?: Anything & {
    readonly configuration?: Anything & { readonly migrations?: Anything & { readonly network?: string } }
  }
  readonly status?: Anything & {
    readonly conditions?: readonly Condition[]
    readonly observedDeploymentID?: string
  }
}

/** Setting, ClusterNetwork or VlanStatus. */
export interface HarvesterObject extends KubeObject {
  readonly value?: string
  readonly default?: string
  readonly status?: Anything & { readonly conditions?: readonly Condition[]; readonly node?: string }
}

export interface VlanConfig extends KubeObject {
  readonly spec?: Anything & {
    readonly clusterNetwork?: string
    readonly nodeSelector?: Readonly<Record<string, string>>
  }
}

// --- questions that both stand-ins ask ---

export const isCompleted = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

/** All of its containers run. */
export const isReady = ({ status }: Pod): boolean =>
  status?.phase === 'Running' &&
  (status.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True')

export const phaseOf = ({ status }: Instance | Migration): string => status?.phase ?? ''

export const isFinal = (object: Instance | Migration): boolean =>
  phaseOf(object) === 'Succeeded' || phaseOf(object) === 'Failed'

export function controllerOf({
  metadata,
}: KubeObject): { readonly kind: string; readonly name: string; readonly uid: string } | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)
}

export const interfacesOf = (spec: InstanceSpec | undefined): readonly Interface[] =>
  spec?.domain?.devices?.interfaces ?? []

export const networksOf = (spec: InstanceSpec | undefined): readonly Network[] => spec?.networks ?? []

/** A phase, and when it began. An object that is in it already stays as it is. */
export function inPhase<S extends { phase?: string; phaseTransitionTimestamps?: readonly PhaseTransition[] }>(
  status: S | undefined,
  phase: string,
  now: string,
): S {
  if (status?.phase === phase) return status
  const before = status?.phaseTransitionTimestamps ?? []
  const phaseTransitionTimestamps = [...before, { phase, phaseTransitionTimestamp: now }]
  return { ...status, phase, phaseTransitionTimestamps } as unknown as S
}

/** With this condition in the place of the one of its type; the time moves only when the status does. */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  condition: Omit<Condition, 'lastTransitionTime'>,
  now: string,
): readonly Condition[] {
  const before = conditions?.find(({ type }) => type === condition.type)
  const isSame = before?.status === condition.status
  const lastTransitionTime = isSame ? (before?.lastTransitionTime ?? now) : now
  const next: Condition = { ...condition, lastTransitionTime }
  return [...(conditions ?? []).filter(({ type }) => type !== condition.type), next]
}

/** Whether two values say the same: what would be written is compared with what is there. A field that is null is absent. */
export const isSame = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other)

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) => {
    if (typeof field !== 'object' || field === null || Array.isArray(field)) return field
    const said = Object.entries(field).filter(([, value]) => value !== null)
    return Object.fromEntries(said.toSorted(([one], [other]) => (one < other ? -1 : 1)))
  })
}
