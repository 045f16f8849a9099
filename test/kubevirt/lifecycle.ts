// A virtual machine that is started, stopped and started again keeps its addresses all the while.

import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import type { Client } from '../conformance/client.ts'
import { expectHeld, expectReferences, expectSame, inWords, untilAddressed, untilReported } from './promises.ts'
import { ask, createSite, createVM, podsOf, untilRunning, untilStopped } from './vms.ts'

export async function checkLifecycle(sentences: Sentences, client: Client): Promise<void> {
  const site = await createSite(client, 'lifecycle')
  const vm = await createVM(site, 'one')
  const addresses = await untilAddressed(site, vm)

  let interfaces = ''
  await sentences.it(
    'a VM that is created gets a claim for each interface, and its launcher pod names them',
    async () => {
      await untilRunning(site, 'one')
      interfaces = await expectReferences(site, 'one')
      await untilReported(site, 'one', addresses)
    },
  )

  await sentences.it('a VM that is stopped keeps its claims and its addresses', async () => {
    await ask(site, 'one', 'stop')
    await untilStopped(site, 'one')
    expectSame('its addresses', inWords(addresses), inWords(await untilAddressed(site, vm)))
  })

  await sentences.it('another VM that is started meanwhile gets others', async () => {
    const other = await createVM(site, 'two')
    const others = Object.values(await untilAddressed(site, other))
    const shared = Object.values(addresses).filter(address => others.includes(address))
    expectSame('what both have', '', shared.join(', '))
    await expectHeld(site, addresses)
  })

  await sentences.it('started again, it has the same addresses on interfaces of the same names', async () => {
    await ask(site, 'one', 'start')
    await untilRunning(site, 'one')
    expectSame('its addresses', inWords(addresses), inWords(await untilAddressed(site, vm)))
    expectSame('its interfaces', interfaces, await expectReferences(site, 'one'))
    await untilReported(site, 'one', addresses)
  })

  await sentences.it('restarted, it runs in another pod with the same addresses', async () => {
    const [before] = await podsOf(site, 'one')
    await ask(site, 'one', 'restart')
    await until('the pod is another one', async () => {
      const names = (await podsOf(site, 'one')).map(({ metadata }) => metadata.name)
      return names.length === 1 && names[0] !== before?.metadata.name ? undefined : names.join(', ')
    })
    await untilRunning(site, 'one')
    expectSame('its interfaces', interfaces, await expectReferences(site, 'one'))
    await untilReported(site, 'one', addresses)
  })
}
