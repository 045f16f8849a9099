// A Machine as a set makes it: the template's labels, annotations and spec, and a name of its own.

import { machineKind } from '../../../api/machine.ts'
import { apiVersionOf, type OwnerReference } from '../../../api/object.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Random } from '../../../runtime/random.ts'

export interface NewMachine {
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly spec: Readonly<Record<string, unknown>>
  readonly owner?: OwnerReference
}

export function toMachine({ namespace, name, labels, annotations, spec, owner }: NewMachine): KubeObject {
  const object = {
    apiVersion: apiVersionOf(machineKind),
    kind: machineKind.kind,
    metadata: { namespace, name, labels, annotations, ...(owner && { ownerReferences: [owner] }) },
    spec,
  }
  return object
}

/** Neither vowels nor what looks like another: no words come about. */
const letters = 'bcdfghjklmnpqrstvwxz2456789'

/** A guest is named after its Machine, and a name of a host has 63 characters. */
const nameCharsMax = 63

export function randomName(prefix: string, random: Random, suffix = ''): string {
  const mark = Array.from({ length: 5 }, () => letters[Math.floor(random() * letters.length)] ?? 'x').join('')
  const tail = `-${mark}${suffix}`
  return `${prefix.slice(0, nameCharsMax - tail.length)}${tail}`
}
