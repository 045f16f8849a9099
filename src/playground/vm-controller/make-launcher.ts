import { isApiError } from '../../kube/api-error.ts'
import { refOf } from '../../kube/object.ts'
import { pods } from '../kinds.ts'
import { controllerOf, type Instance, type Migration, type Pod } from '../shapes.ts'
import { toLauncher } from './launcher.ts'
import type { ControllerWorld } from './world.ts'

/** A write whose answer was lost may have made it already. */
export async function makeLauncher(
  instance: Instance,
  { client }: ControllerWorld,
  migration?: Migration,
): Promise<Pod> {
  const launcher = toLauncher(instance, migration)
  try {
    return await client.create(pods, launcher)
  } catch (error) {
    const found = isApiError(error, 'AlreadyExists') ? await client.get(pods, refOf(launcher)) : undefined
    if (found === undefined || controllerOf(found)?.uid !== instance.metadata.uid) throw error
    return found
  }
}
