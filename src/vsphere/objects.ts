// Objects of the server with some of their properties, as the property collector answers them.

import { childOf, childrenOf, textOf, type XMLElement } from '../xml.ts'
import { type ManagedRef, readRef, typeOf } from './value.ts'

export interface CollectedObject {
  readonly ref: ManagedRef
  /** The element `val` of each path. A property that is not set is absent. */
  readonly properties: ReadonlyMap<string, XMLElement>
  /** Paths that the server refused to tell, with the type of the fault: `NoPermission`. */
  readonly missing: ReadonlyMap<string, string>
}

export function readObjects(result: XMLElement): CollectedObject[] {
  return childrenOf(result, 'objects').flatMap(object => {
    const ref = readRef(childOf(object, 'obj'))
    return ref === undefined ? [] : [{ ref, properties: propertiesOf(object), missing: missingOf(object) }]
  })
}

function propertiesOf(object: XMLElement): Map<string, XMLElement> {
  const properties = new Map<string, XMLElement>()
  for (const set of childrenOf(object, 'propSet')) {
    const [name, value] = [textOf(set, 'name'), childOf(set, 'val')]
    if (name !== undefined && value !== undefined) properties.set(name, value)
  }
  return properties
}

function missingOf(object: XMLElement): Map<string, string> {
  const missing = new Map<string, string>()
  for (const set of childrenOf(object, 'missingSet')) {
    const path = textOf(set, 'path')
    const fault = childOf(childOf(set, 'fault'), 'fault')
    if (path !== undefined) missing.set(path, (fault && typeOf(fault)) ?? 'Unknown')
  }
  return missing
}
