import { describe, expect, test } from 'vitest'
import { anAttachment, mooring, ovn, withoutOVN } from '../../../../test/harness/attachments.ts'
import type { Identity } from '../../../api/object.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { Ledger } from '../ledger.ts'
import { defaultNetworkRules, Networks } from '../networks.ts'
import { everything } from '../scope.ts'
import { Sources } from '../sources.ts'
import { createViews } from '../views.ts'
import { isGone } from './quarantine.ts'

const apiGroup = 'k8s.cni.cncf.io'
const blue: Identity = { apiGroup, kind: 'Network', namespace: '', name: 'blue' }
const own: Identity = { apiGroup, kind: 'NetworkAttachmentDefinition', namespace: 'red', name: 'vms' }

function aWorld(scope = everything) {
  const caches = createViews()
  const sources = new Sources(caches, new Ledger())
  new Networks(caches, sources, defaultNetworkRules, withoutOVN)
  return { caches, sources, scope }
}

describe('the network that an address was given from', () => {
  test.each([
    ['of OVN-Kubernetes', blue, ovn(), ovn({ subnets: 'x' })],
    ['with addresses of its own', own, mooring(), mooring({})],
  ])('%s is gone with its last attachment, and not while that cannot be read', (_, pool, good, bad) => {
    const world = aWorld()
    const { attachments } = world.caches
    // Nothing has been listed yet.
    expect(isGone({ pool }, world)).toBe(false)
    attachments.markSynced()
    expect(isGone({ pool }, world)).toBe(true)
    const put = (config: object, resourceVersion: string) =>
      attachments.put(anAttachment('red/vms', config, { metadata: { resourceVersion } }) as KubeObject)
    put(good, '2')
    expect(isGone({ pool }, world)).toBe(false)
    put(bad, '3')
    expect(world.sources.poolsOf(pool)).toEqual([])
    expect(isGone({ pool }, world)).toBe(false)
    attachments.clear()
    expect(isGone({ pool }, world)).toBe(true)
  })

  test('is not taken for gone by a process that sees one namespace alone', () => {
    const world = aWorld({ namespace: 'lab', watchFilter: '' })
    world.caches.attachments.markSynced()
    expect(isGone({ pool: blue }, world)).toBe(false)
    expect(isGone({ pool: own }, world)).toBe(false)
  })
})
