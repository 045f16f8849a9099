// CustomResourceDefinition as a kind of its own: what is filled in, what is checked.

import type { Behaviour } from '../kinds/kind.ts'
import { isObject, type KubeObject } from '../object.ts'
import { checkCRD, warnAboutCRD } from './check.ts'
import { applyCRDDefaults, withStoredVersion } from './defaults.ts'

export const definitionBehaviour: Behaviour = {
  hasGeneration: true,
  applyDefaults: applyCRDDefaults,
  prepareForCreate: definition => {
    definition.status = {
      conditions: null,
      acceptedNames: { plural: '', kind: '' },
      storedVersions: withStoredVersion([], definition.spec),
    }
  },
  prepareForUpdate: definition => {
    const status = isObject(definition.status) ? definition.status : {}
    const stored = Array.isArray(status.storedVersions) ? status.storedVersions : []
    definition.status = { ...status, storedVersions: withStoredVersion(stored, definition.spec) }
  },
  validate: (definition: KubeObject, old?: KubeObject) => checkCRD(definition, old),
  warnings: definition => warnAboutCRD(definition),
}
