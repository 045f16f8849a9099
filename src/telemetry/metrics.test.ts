import { describe, expect, test } from 'vitest'
import { createMetrics, type Sample } from './metrics.ts'

describe('metrics', () => {
  test('are printed in the text form that Prometheus reads', () => {
    const metrics = createMetrics()
    const asked = metrics.counter('asked_total', 'Requests\nin all.', ['verb', 'code'])
    const took = metrics.histogram('took_seconds', 'Time.', [0.1, 1], ['verb'])
    metrics.gauge('open', 'Open now.', () => ({
      labels: ['kind', 'of'],
      samples: [
        [['read', 'a"b'], 2n ** 64n],
        [['write', ''], 0],
      ],
    }))
    metrics.total('grown_total', 'Only grows.', () => 7)
    asked.add('get', '200')
    asked.add('get', '200')
    asked.add('a"b\\c\nd', '404')
    for (const seconds of [0.1, 0.5, 3]) took.observe(seconds, 'get')
    expect(metrics.text()).toBe(
      [
        '# HELP asked_total Requests\\nin all.',
        '# TYPE asked_total counter',
        'asked_total{verb="get",code="200"} 2',
        'asked_total{verb="a\\"b\\\\c\\nd",code="404"} 1',
        '# HELP took_seconds Time.',
        '# TYPE took_seconds histogram',
        'took_seconds_bucket{verb="get",le="0.1"} 1',
        'took_seconds_bucket{verb="get",le="1"} 2',
        'took_seconds_bucket{verb="get",le="+Inf"} 3',
        'took_seconds_sum{verb="get"} 3.6',
        'took_seconds_count{verb="get"} 3',
        '# HELP open Open now.',
        '# TYPE open gauge',
        'open{kind="read",of="a\\"b"} 18446744073709551616',
        'open{kind="write",of=""} 0',
        '# HELP grown_total Only grows.',
        '# TYPE grown_total counter',
        'grown_total 7',
        '',
      ].join('\n'),
    )
  })

  test('without labels are there before anything happened', () => {
    const metrics = createMetrics()
    metrics.counter('calm_total', 'Nothing yet.')
    metrics.histogram('calm_seconds', 'Nothing yet.', [1])
    expect(metrics.text()).toContain('calm_total 0\n')
    expect(metrics.text()).toContain('calm_seconds_bucket{le="+Inf"} 0\n')
  })

  test('with labels that are known beforehand start at zero, so that the first one counted is seen as an increase', () => {
    const metrics = createMetrics()
    const asked = metrics.counter('asked_total', 'Requests.', ['verb'], { startAt: [['get'], ['list']] })
    asked.add('list')
    asked.startAtZero('watch')
    asked.startAtZero('list')
    expect(metrics.text()).toContain(
      'asked_total{verb="get"} 0\nasked_total{verb="list"} 1\nasked_total{verb="watch"} 0\n',
    )
  })

  test('come to no more series than they may, whatever is named', () => {
    const metrics = createMetrics()
    const asked = metrics.counter('asked_total', 'Requests.', ['name'])
    for (let i = 0; i < 10_000; i++) asked.add(`name-${i}`)
    const lines = metrics
      .text()
      .split('\n')
      .filter(line => line.startsWith('asked_total{'))
    expect(lines).toHaveLength(2_001)
    expect(lines.at(-1)).toBe('asked_total{name="other"} 8000')
  })

  test('that are read when asked come to no more series either, and none is lost in the sum', () => {
    const metrics = createMetrics()
    const samples = Array.from({ length: 10_003 }, (_, i): Sample => [[`name-${i}`], 2])
    metrics.gauge('open', 'Open now.', () => ({ labels: ['name'], samples }))
    const lines = metrics
      .text()
      .split('\n')
      .filter(line => line.startsWith('open{'))
    expect(lines).toHaveLength(10_001)
    expect(lines.at(-1)).toBe('open{name="other"} 6')
  })

  test('have one meaning per name', () => {
    const metrics = createMetrics()
    metrics.counter('asked_total', 'Requests.')
    expect(() => metrics.counter('asked_total', 'Something else.')).toThrow('asked_total')
  })
})
