import { describe, expect, test } from 'vitest'
import { ok } from '../../test/harness/client.ts'
import { aConfigMap, configMaps } from '../../test/harness/objects.ts'
import { aWorld } from '../../test/harness/world.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { countRequests } from './request-metrics.ts'

describe('metrics of the API', () => {
  test('tell what was asked, what was answered and what is stored', async () => {
    const world = await aWorld()
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    await world.admin.get(`${configMaps()}/none`)
    const reply = await world.admin.get('/metrics')
    expect(reply.code).toBe(200)
    const text = String(reply.text)
    expect(text).toContain('apiserver_request_total{verb="create",resource="configmaps",code="201"} 1\n')
    expect(text).toContain('apiserver_request_total{verb="get",resource="configmaps",code="404"} 1\n')
    expect(text).toContain('apiserver_request_duration_seconds_count{verb="create",resource="configmaps"} 1\n')
    expect(text).toContain('apiserver_current_inflight_requests{request_kind="mutating"} 0\n')
    expect(text).toContain(`mooring_store_revision ${world.store.revision}\n`)
    expect(text).toContain(`mooring_store_objects ${world.store.count('')}\n`)
  })

  test('know no method that a client made up, and leave watches out of the durations', async () => {
    const metrics = createMetrics()
    const { store } = await aWorld()
    const answered = countRequests(metrics, { store, running: { reads: 0, writes: 0, watches: 0 } })
    answered({ verb: 'brew', resource: '', code: 405, tookMs: 1 })
    answered({ verb: 'watch', resource: 'pods', code: 200, tookMs: 1 })
    expect(metrics.text()).toContain('apiserver_request_total{verb="other",resource="",code="405"} 1\n')
    expect(metrics.text()).toContain('apiserver_request_total{verb="watch",resource="pods",code="200"} 1\n')
    expect(metrics.text()).not.toContain('apiserver_request_duration_seconds_count{verb="watch"')
  })
})
