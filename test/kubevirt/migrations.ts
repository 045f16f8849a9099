// Live migrations, as users ask for them: virt-controller makes the target pod, the nodes do the rest.

import { must } from '../capi/answers.ts'
import { until } from '../capi/until.ts'
import { kubevirt, type Site } from './vms.ts'

export async function createMigration(
  site: Site,
  vm: string,
  name: string,
  annotations: Readonly<Record<string, string>> = {},
): Promise<void> {
  must(
    await site.client.create(`${kubevirt(site)}/virtualmachineinstancemigrations`, {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachineInstanceMigration',
      metadata: { name, namespace: site.namespace, annotations },
      spec: { vmiName: vm },
    }),
  )
}

/** A migration that was just asked for has no status at all. */
function phaseOf(status: unknown): string {
  const { phase = 'without a phase' } = (status ?? {}) as { readonly phase?: string }
  return phase
}

export async function untilMigration(site: Site, name: string, expected: 'Succeeded' | 'Failed'): Promise<void> {
  await until(`the migration ${name} is ${expected}`, async () => {
    const { body } = await site.client.get(`${kubevirt(site)}/virtualmachineinstancemigrations/${name}`)
    const phase = phaseOf(body.status)
    return phase === expected ? undefined : phase
  })
}

/** All that there are of a VM, also those that no user asked for. */
export async function untilMigrated(site: Site, vm: string): Promise<void> {
  await until(`every migration of ${vm} succeeded`, async () => {
    const { items } = must(await site.client.get(`${kubevirt(site)}/virtualmachineinstancemigrations`))
    const phases = items.filter(({ spec }) => spec.vmiName === vm).map(({ status }) => phaseOf(status))
    return phases.length > 0 && phases.every(phase => phase === 'Succeeded') ? undefined : phases.join(', ')
  })
}
