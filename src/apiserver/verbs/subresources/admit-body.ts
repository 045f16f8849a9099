// A body that is not stored itself (a Binding, an Eviction, a TokenRequest) is admitted like a new object: webhooks see
// it as it came, may change it, and are asked again when the subresource has checked it.

import type { Call, World } from '../../call.ts'
import type { ServedVersion } from '../../kinds/registry.ts'
import type { KubeObject } from '../../object.ts'
import type { WriteOptions } from '../../options.ts'
import { optionsObject } from '../create.ts'
import { recordManager } from '../ownership.ts'
import { settleNamespace } from '../prepare.ts'

export interface AdmittedBody {
  /** What mutating webhooks made of it. */
  readonly body: KubeObject
  /** Asks the validating webhooks about the body in its last form. */
  readonly validate: (body: KubeObject) => Promise<void>
}

export async function admitBody(
  call: Call,
  world: World,
  options: WriteOptions,
  { served, given }: { served: ServedVersion; given: KubeObject },
): Promise<AdmittedBody> {
  settleNamespace(call, given)
  recordManager({ ...call, served }, world, undefined, given, options)
  const admission = {
    operation: 'CREATE',
    call,
    name: call.request.name || (given.metadata.name ?? ''),
    oldObject: undefined,
    dryRun: options.dryRun,
    options: optionsObject('CreateOptions', options),
  } as const
  const body = (await world.admission.mutate({ ...admission, object: given })) ?? given
  return { body, validate: object => world.admission.validate({ ...admission, object }) }
}
