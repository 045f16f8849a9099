// A resize changes how much cpu and memory the containers of a running pod get, and nothing else. What else it asks for
// is passed over where kube-apiserver passes it over, and refused where it refuses it.

import { at, child, type Fault, forbidden, invalid } from '../faults.ts'
import { clone, equal, type KubeObject } from '../object.ts'
import { type Fields, items, part, text } from './fields.ts'
import { checkPodSpec } from './pod-checks.ts'
import { qualityOfService } from './quality-of-service.ts'

const lists = ['containers', 'initContainers'] as const
const specOf = (pod: KubeObject): Fields => part(pod, 'spec') ?? {}

/** Sets back all that a resize does not change, unless the containers are not the same ones: that is refused. */
export function keepBeyondResize(pod: KubeObject, old: KubeObject): void {
  const { managedFields, resourceVersion } = pod.metadata
  pod.metadata = {
    ...clone(old.metadata),
    ...(managedFields && { managedFields }),
    ...(resourceVersion && { resourceVersion }),
  }
  if (checkContainers(specOf(pod), specOf(old)).length > 0) return
  const spec = clone(specOf(old))
  for (const list of lists) {
    const wanted = items(specOf(pod)[list])
    for (const [i, container] of items(spec[list]).entries()) {
      for (const field of ['resources', 'resizePolicy']) {
        const value = wanted[i]?.[field]
        if (value === undefined) delete container[field]
        else container[field] = value
      }
    }
  }
  pod.spec = spec
}

export function checkResize(pod: KubeObject, old: KubeObject): Fault[] {
  const spec = specOf(pod)
  const before = specOf(old)
  const faults = checkPodSpec(spec, 'spec')
  const quality = text(part(old, 'status')?.qosClass) || qualityOfService(before)
  if (qualityOfService(spec) !== quality) {
    faults.push(invalid('spec', quality, 'Pod QOS Class may not change as a result of resizing'))
  }
  const otherContainers = checkContainers(spec, before)
  if (otherContainers.length > 0) return [...faults, ...otherContainers]
  for (const list of lists) {
    for (const [i, container] of items(before[list]).entries()) {
      if (list === 'initContainers' && !isSidecar(container)) continue
      faults.push(...checkRemoved(items(spec[list])[i], container, at(child('spec', list), i)))
    }
  }
  return [...faults, ...checkOthers(spec, before)]
}

function checkContainers(spec: Fields, before: Fields): Fault[] {
  return lists.flatMap(list => {
    const names = items(spec[list]).map(({ name }) => text(name))
    const known = items(before[list]).map(({ name }) => text(name))
    const path = child('spec', list)
    if (names.length !== known.length) return [forbidden(path, 'containers may not be added or removed on resize')]
    return names.flatMap((name, i) =>
      name === known[i] ? [] : [forbidden(at(path, i), 'containers may not be renamed or reordered on resize')],
    )
  })
}

function checkRemoved(container: Fields | undefined, before: Fields, path: string): Fault[] {
  return ['requests', 'limits'].flatMap(list => {
    const kept = part(container, 'resources', list) ?? {}
    const known = Object.keys(part(before, 'resources', list) ?? {})
    if (known.every(name => Object.hasOwn(kept, name))) return []
    return [forbidden(child(path, `resources.${list}`), `resource ${list} cannot be removed`)]
  })
}

function checkOthers(spec: Fields, before: Fields): Fault[] {
  const isFixedChanged = items(before.initContainers).some(
    (container, i) => !isSidecar(container) && !equal(container.resources, items(spec.initContainers)[i]?.resources),
  )
  if (isFixedChanged) return [forbidden('spec', 'resources for non-sidecar init containers are immutable')]
  const [after, old] = [spec, before].map(one =>
    lists.map(list => items(one[list]).map(container => withoutComputed(container))),
  )
  return equal(after, old) ? [] : [forbidden('spec', 'only cpu and memory resources are mutable')]
}

/** The resources of a container but those that a resize may change. */
function withoutComputed(container: Fields): unknown {
  return ['requests', 'limits'].map(list => {
    const { cpu: _, memory: __, ...others } = part(container, 'resources', list) ?? {}
    return others
  })
}

const isSidecar = (container: Fields) => container.restartPolicy === 'Always'
