// Storage: volumes, claims to them, and the classes they come in.

import { at, type Fault, forbidden, invalid, notSupported, required } from '../faults.ts'
import type { Behaviour } from '../kinds/kind.ts'
import { clone, equal, type KubeObject } from '../object.ts'
import { toQuantity } from '../wire/quantity.ts'
import { ensure, type Fields, fill, part, text, texts } from './fields.ts'
import { defaultDisk } from './pod-defaults.ts'
import { checkSelector } from './selector-checks.ts'

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const volumeModes = ['Block', 'Filesystem']
const specOf = (object: KubeObject): Fields => part(object, 'spec') ?? {}

export function defaultClaim(claim: Fields): void {
  fill(ensure(claim, 'status'), 'phase', 'Pending')
  fill(part(claim, 'spec'), 'volumeMode', 'Filesystem')
}

export const persistentVolumeClaims: Behaviour = {
  applyDefaults: defaultClaim,
  prepareForCreate(object) {
    object.status = { phase: 'Pending' }
    const spec = part(object, 'spec')
    if (spec === undefined) return
    // One field under two names, kept alike for clients of either.
    const source = part(spec, 'dataSource')
    const reference = part(spec, 'dataSourceRef')
    if (source !== undefined && reference === undefined) spec.dataSourceRef = clone(source)
    else if (source === undefined && reference !== undefined && text(reference.namespace) === '') {
      spec.dataSource = clone(reference)
    }
  },
  validate: object => checkClaimSpec(specOf(object)),
  validateUpdate(object, old) {
    const spec = clone(specOf(object))
    const before = clone(specOf(old))
    if (text(before.volumeName) === '') before.volumeName = spec.volumeName
    if (part(object, 'status')?.phase === 'Bound') {
      const requests = part(spec, 'resources', 'requests')
      if (requests !== undefined) requests.storage = part(before, 'resources', 'requests')?.storage
      spec.volumeAttributesClassName = before.volumeAttributesClassName
    }
    if (before.storageClassName === undefined) before.storageClassName = spec.storageClassName
    if (equal(spec, before)) return []
    const why =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'
    return [forbidden('spec', why)]
  },
}

function checkClaimSpec(spec: Fields): Fault[] {
  const faults: Fault[] = []
  const modes = texts(spec.accessModes)
  if (modes.length === 0) faults.push(required('spec.accessModes', 'at least 1 access mode is required'))
  faults.push(...checkSelector(part(spec, 'selector'), 'spec.selector'))
  for (const mode of modes)
    if (!accessModes.includes(mode)) faults.push(notSupported('spec.accessModes', mode, accessModes))
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    faults.push(forbidden('spec.accessModes', 'may not use ReadWriteOncePod with other access modes'))
  }
  const storage = part(spec, 'resources', 'requests')?.storage
  const path = at('spec.resources', 'storage')
  if (storage === undefined) faults.push(required(path))
  else if ((toQuantity(storage)?.nanos ?? 1n) <= 0n) faults.push(invalid(path, storage, 'must be greater than zero'))
  if (!volumeModes.includes(text(spec.volumeMode))) {
    faults.push(notSupported('spec.volumeMode', spec.volumeMode, volumeModes))
  }
  return faults
}

export const persistentVolumes: Behaviour = {
  applyDefaults(object) {
    fill(ensure(object, 'status'), 'phase', 'Pending')
    const spec = part(object, 'spec')
    if (spec === undefined) return
    fill(spec, 'persistentVolumeReclaimPolicy', 'Retain')
    fill(spec, 'volumeMode', 'Filesystem')
    const hostPath = part(spec, 'hostPath')
    if (hostPath !== undefined) fill(hostPath, 'type', '')
    defaultDisk(spec)
  },
  prepareForCreate(object, { now }) {
    object.status = { phase: 'Pending', lastPhaseTransitionTime: `${now.toISOString().slice(0, 19)}Z` }
  },
  validate(object) {
    const spec = specOf(object)
    const faults: Fault[] = []
    const modes = texts(spec.accessModes)
    if (modes.length === 0) faults.push(required('spec.accessModes'))
    for (const mode of modes) {
      if (!accessModes.includes(mode)) faults.push(notSupported('spec.accessModes', mode, accessModes))
    }
    const capacity = part(spec, 'capacity') ?? {}
    const names = Object.keys(capacity)
    if (names.length === 0) faults.push(required('spec.capacity'))
    if (names.length !== 1 || names[0] !== 'storage') {
      faults.push(notSupported('spec.capacity', names.length === 0 ? null : capacity, ['storage']))
    }
    return faults
  },
}

const reclaimPolicies = ['Delete', 'Retain']
const bindingModes = ['Immediate', 'WaitForFirstConsumer']

export const storageClasses: Behaviour = {
  applyDefaults(object) {
    fill(object, 'reclaimPolicy', 'Delete')
    fill(object, 'volumeBindingMode', 'Immediate')
  },
  validate(object) {
    const faults: Fault[] = []
    if (text(object.provisioner) === '') faults.push(required('provisioner'))
    if (!reclaimPolicies.includes(text(object.reclaimPolicy))) {
      faults.push(notSupported('reclaimPolicy', object.reclaimPolicy, reclaimPolicies))
    }
    if (!bindingModes.includes(text(object.volumeBindingMode))) {
      faults.push(notSupported('volumeBindingMode', object.volumeBindingMode, bindingModes))
    }
    return faults
  },
  validateUpdate(object, old) {
    const faults: Fault[] = []
    for (const field of ['parameters', 'provisioner', 'reclaimPolicy']) {
      if (!equal(object[field], old[field])) faults.push(forbidden(field, `updates to ${field} are forbidden.`))
    }
    if (object.volumeBindingMode !== old.volumeBindingMode) {
      faults.push(invalid('volumeBindingMode', object.volumeBindingMode, 'field is immutable'))
    }
    return faults
  },
}

export const storageDrivers: Behaviour = {
  applyDefaults(object) {
    const spec = part(object, 'spec')
    if (spec === undefined) return
    fill(spec, 'attachRequired', true)
    fill(spec, 'fsGroupPolicy', 'ReadWriteOnceWithFSType')
    for (const field of ['podInfoOnMount', 'requiresRepublish', 'seLinuxMount', 'storageCapacity'])
      fill(spec, field, false)
    if (texts(spec.volumeLifecycleModes).length === 0) spec.volumeLifecycleModes = ['Persistent']
  },
}
