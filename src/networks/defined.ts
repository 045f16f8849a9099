// What a ClusterUserDefinedNetwork decides about the network of its name, beside the namespaces that it selects. Its
// NetworkAttachmentDefinitions lie in the namespaces of tenants, and the first of them decides about the network for all: so it
// has to say what the administrator wrote.

import { networkAllocatedCondition, networkNameAnnotation } from '../api/names.ts'
import { isRecord, ownText } from '../api/shape.ts'
import { parseUserDefinedNetwork } from '../api/user-defined-network.ts'
import { isMalformed } from '../ip/malformed.ts'
import type { OVNAttachment } from './network.ts'
import { renderNetwork } from './rendered.ts'

export interface DefinedNetwork {
  /** What its attachments have to say, by field. */
  readonly essentials: ReadonlyMap<string, string>
  /** Mooring has rendered it, and OVN-Kubernetes has not taken it over since. Only administrators can write either. */
  readonly isRenderedByMooring: boolean
}

/** Undefined for one that decides nothing: of a topology that Mooring does not serve, or not to be rendered as it is. */
export function definedBy(object: unknown): DefinedNetwork | undefined {
  if (!isRecord(object) || !isRecord(object.spec) || object.spec.network === undefined) return undefined
  const udn = parseUserDefinedNetwork(object)
  const rendered = isMalformed(udn) ? undefined : renderNetwork(udn)
  if (isMalformed(udn) || rendered === undefined || isMalformed(rendered)) return undefined
  const isTakenOver = udn.conditions.some(({ type }) => type === networkAllocatedCondition)
  const isRenderedByMooring = !isTakenOver && ownText(udn.metadata.annotations, networkNameAnnotation) !== undefined
  return { essentials: rendered.essentials, isRenderedByMooring }
}

/** Where addresses are, and which are given out. OVN-Kubernetes decides itself about MTU, join and transit subnets. */
const compared = ['topology', 'role', 'subnets', 'excludeSubnets', 'allowPersistentIPs']
/** OVN-Kubernetes leaves them out where its flag for them is off. */
const optional = ['reservedSubnets', 'infrastructureSubnets', 'defaultGatewayIPs']

/** Whether it leaves out a field that the network has. It may, and an attachment that says everything counts before it. */
export function leavesOut({ reading }: OVNAttachment, defined: DefinedNetwork | undefined): boolean {
  const { essentials: said } = reading.config
  return optional.some(field => said.get(field) === '' && (defined?.essentials.get(field) ?? '') !== '')
}

/** The fields in which an attachment contradicts what the network is defined as. */
export function contradictionsOf({ reading }: OVNAttachment, { essentials, isRenderedByMooring }: DefinedNetwork) {
  const { essentials: said } = reading.config
  const isSaid = (field: string) => said.get(field) === essentials.get(field)
  const isLeftOut = (field: string) => !isRenderedByMooring && said.get(field) === ''
  return [...compared.filter(field => !isSaid(field)), ...optional.filter(field => !isSaid(field) && !isLeftOut(field))]
}
