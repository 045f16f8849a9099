// The kinds that hold a cluster together: namespaces, nodes, service accounts, quotas and limits.

import { at, type Fault, invalid } from '../faults.ts'
import type { Behaviour } from '../kinds/kind.ts'
import { checkQualifiedName } from '../names.ts'
import { clone, setOwn } from '../object.ts'
import { checkPrefix, familyOfPrefix } from './address-checks.ts'
import { ensure, type Fields, fill, isAbsent, items, part, text, texts } from './fields.ts'

const nameLabel = 'kubernetes.io/metadata.name'
const ownFinalizer = 'kubernetes'

export const namespaces: Behaviour = {
  applyDefaults(object) {
    const { name } = object.metadata
    if (name) object.metadata.labels = { ...object.metadata.labels, [nameLabel]: name }
    fill(ensure(object, 'status'), 'phase', 'Active')
  },
  prepareForCreate(object) {
    const { name } = object.metadata
    if (name) object.metadata.labels = { ...object.metadata.labels, [nameLabel]: name }
    object.status = { phase: 'Active' }
    const spec = ensure(object, 'spec')
    if (spec === undefined) return
    const finalizers = texts(spec.finalizers)
    spec.finalizers = finalizers.includes(ownFinalizer) ? finalizers : [...finalizers, ownFinalizer]
  },
  prepareForUpdate(object, old) {
    object.spec = clone(old.spec)
    object.status = clone(old.status)
  },
  validate(object) {
    const faults: Fault[] = []
    for (const finalizer of texts(part(object, 'spec')?.finalizers)) {
      if (finalizer === ownFinalizer) continue
      for (const complaint of checkQualifiedName(finalizer))
        faults.push(invalid('spec.finalizers', finalizer, complaint))
      if (finalizer.includes('/')) continue
      const why = 'name is neither a standard finalizer name nor is it fully qualified'
      faults.push(invalid('spec.finalizers', finalizer, why))
    }
    return faults
  },
  validateStatus({ metadata, status }) {
    const phase = text(part(status)?.phase)
    const isEnding = Boolean(metadata.deletionTimestamp)
    if (phase === (isEnding ? 'Terminating' : 'Active')) return []
    const why = isEnding
      ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
      : "may only be 'Active' if `deletionTimestamp` is empty"
    return [invalid('status.Phase', phase, why)]
  },
  fields: { 'status.phase': object => text(part(object, 'status')?.phase) },
  nameRule: 'dns-label',
}

export const nodes: Behaviour = {
  applyDefaults(object) {
    const status = part(object, 'status')
    const capacity = part(status, 'capacity')
    if (capacity !== undefined) fill(status, 'allocatable', clone(capacity))
    const spec = part(object, 'spec')
    if (text(spec?.podCIDR) !== '') fill(spec, 'podCIDRs', [spec?.podCIDR])
  },
  validate(object) {
    const path = 'spec.podCIDRs'
    const prefixes = texts(part(object, 'spec')?.podCIDRs)
    const faults = prefixes.flatMap((prefix, i) => checkPrefix(prefix, at(path, i)))
    const families = new Set(prefixes.map(familyOfPrefix))
    if (faults.length === 0 && families.size < prefixes.length) {
      faults.push(invalid(path, prefixes, 'may specify no more than one CIDR for each IP family'))
    }
    return faults
  },
  fields: { 'spec.unschedulable': object => String(part(object, 'spec')?.unschedulable === true) },
}

export const limitRanges: Behaviour = {
  applyDefaults(object) {
    for (const limit of items(part(object, 'spec')?.limits)) {
      if (limit.type !== 'Container') continue
      fillMissing(limit, 'default', part(limit, 'max'))
      fillMissing(limit, 'defaultRequest', part(limit, 'default'))
      fillMissing(limit, 'defaultRequest', part(limit, 'min'))
    }
  },
}

function fillMissing(limit: Fields, field: string, from: Fields | undefined): void {
  if (from === undefined || Object.keys(from).length === 0) return
  const target = ensure(limit, field)
  if (target === undefined) return
  for (const [name, amount] of Object.entries(from)) if (isAbsent(target[name])) setOwn(target, name, amount)
}

export const resourceQuotas: Behaviour = {
  prepareForCreate(object) {
    object.status = {}
  },
}
