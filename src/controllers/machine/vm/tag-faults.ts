// What is wrong with the tags that a provider spec lists: said at admission, and by the Machine where no webhook was asked. A tag is meant
// by its id, for two may have one name; and their number is bounded, for each is asked for at the vCenter.

import { type Fault, invalid, tooMany } from '../../../admission/fault.ts'
import { providerSpecPath } from '../../../api/machine.ts'
import { isTagID, type VSphereProviderSpec } from '../../../api/vsphere-provider-spec.ts'
import { tagsOfMachineMax } from '../../../limits.ts'

const example = 'urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL'

export function tagFaults({ tagIDs }: Pick<VSphereProviderSpec, 'tagIDs'>, path = providerSpecPath): Fault[] {
  const at = `${path}.tagIDs`
  if (tagIDs.length > tagsOfMachineMax) return [tooMany(at, tagIDs.length, tagsOfMachineMax)]
  return tagIDs.flatMap((id, i) => {
    const field = `${at}[${i}]`
    if (!isTagID(id)) return [invalid(field, id, `must be the id of a tag, not its name, such as ${example}`)]
    const first = tagIDs.indexOf(id)
    return first === i ? [] : [invalid(field, id, `is ${at}[${first}] too`)]
  })
}
