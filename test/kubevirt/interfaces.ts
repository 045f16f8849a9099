// Interfaces come and go while the virtual machine runs.

import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import type { Client } from '../conformance/client.ts'
import { expectReferences, expectSame, inWords, untilAddressed, untilFree, untilReported } from './promises.ts'
import { claim, createSite, createVM, networks, plug, podsOf, selectionsOf, unplug, untilRunning } from './vms.ts'

export async function checkInterfaces(sentences: Sentences, client: Client): Promise<void> {
  const site = await createSite(client, 'interfaces')
  const vm = await createVM(site, 'one')
  await untilRunning(site, 'one')
  const addresses = await untilAddressed(site, vm)
  const all = [...networks, 'more']
  let plugged = ''

  await sentences.it(
    'an interface that is plugged in gets a claim and an address, and the others keep theirs',
    async () => {
      await plug(site, 'one', 'more', 'lan')
      await until('the launcher pod has the interface', async () => {
        const [pod] = await podsOf(site, 'one')
        const count = pod === undefined ? 0 : selectionsOf(pod).length
        return count === all.length ? undefined : `it has ${count}`
      })
      await expectReferences(site, 'one', all)
      const now = await untilAddressed(site, vm, all)
      plugged = now.more ?? ''
      expectSame('the addresses', inWords({ ...addresses, more: plugged }), inWords(now))
      await untilReported(site, 'one', now)
    },
  )

  await sentences.it('unplugged, its claim is gone and its address free, and the others keep theirs', async () => {
    await unplug(site, 'one', 'more')
    await until('the claim is gone', async () => ((await claim(site, 'one.more')) === undefined ? undefined : 'there'))
    await untilFree(site, 'one.more', { more: plugged })
    expectSame('the addresses', inWords(addresses), inWords(await untilAddressed(site, vm)))
    await expectReferences(site, 'one')
  })
}
