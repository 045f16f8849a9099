// Alerts and the board speak of numbers that are told, and by the names that the reference has.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { counted as ofAddressClaims } from '../../src/controllers/capi/status.ts'
import { counted as ofNodes } from '../../src/controllers/migration/addresses/node-addresses.ts'
import { counted as ofIPAMClaims } from '../../src/controllers/vm/binding/counted.ts'

interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly labels?: { readonly severity: string }
  readonly annotations?: { readonly summary: string; readonly description: string }
}

interface Panel {
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: readonly { readonly expr: string }[]
}

const groups = parse(readFileSync('config/prometheus/alerts.yaml', 'utf8')).groups as { rules: Rule[] }[]
const rules = groups.flatMap(group => group.rules)
const board = JSON.parse(readFileSync('config/grafana/mooring.json', 'utf8')) as { panels: Panel[] }
const reference = readFileSync('docs/reference/metrics.md', 'utf8')

/** Labels of each metric, as the reference tells them; a histogram is three series more. */
const told = new Map<string, readonly string[]>()
for (const [, name = '', type, labels = ''] of reference.matchAll(/^\| `(\w+)` +\| (\w+) +\| ([^|]*)\|/gm)) {
  const pool = /\bpool\b/.test(labels) ? ['kind', 'namespace', 'name'] : []
  const names = [...pool, ...[...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label)]
  told.set(name, names)
  if (type === 'histogram') for (const part of ['bucket', 'sum', 'count']) told.set(`${name}_${part}`, [...names, 'le'])
}

/** Labels that Prometheus adds to what it scrapes. */
const added = ['instance', 'job', 'pod']

function faultsOf(expr: string): string[] {
  const names = [...expr.matchAll(/(?<![\w:])(?:mooring|process|nodejs)_\w+/g)].map(([name]) => name)
  const known = new Set([...names.flatMap(name => told.get(name) ?? []), ...added])
  const selected = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside = '']) => inside.match(/\w+(?=\s*=)/g) ?? [])
  const grouped = [...expr.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(
    ([, inside = '']) => inside.match(/\w+/g) ?? [],
  )
  return [
    ...names.filter(name => !told.has(name)),
    ...(names.length === 0
      ? []
      : [...selected, ...grouped].filter(label => !known.has(label)).map(label => `{${label}}`)),
  ]
}

test('the reference lists every reason for which a claim can wait, and no other', () => {
  const [, list = ''] = /^`reason` is more precise than the condition of the claim: ([^.]*)\./m.exec(reference) ?? []
  const listed = [...list.matchAll(/`(\w+)`/g)].map(([, reason]) => reason)
  const counted = [ofAddressClaims, ofNodes, ...ofIPAMClaims].flatMap(({ reasons = [] }) => reasons)
  expect(listed.toSorted()).toEqual([...new Set(counted)].toSorted())
})

describe('alerts', () => {
  const recorded = new Set(rules.flatMap(({ record }) => record ?? []))

  test.each(rules.map(rule => [rule.alert ?? rule.record ?? '', rule] as const))(
    '%s asks for what is told',
    (_, rule) => {
      expect(faultsOf(rule.expr)).toEqual([])
      const asked = rule.expr.match(/mooring:\w+:\w+/g) ?? []
      expect(asked.filter(name => !recorded.has(name))).toEqual([])
    },
  )

  test('each says how bad it is, what is so, and what to do, and stands in the reference', () => {
    const page = readFileSync('docs/reference/alerts.md', 'utf8')
    for (const { alert, labels, annotations } of rules.filter(rule => rule.alert !== undefined)) {
      expect(labels?.severity).toMatch(/^(info|warning|critical)$/)
      expect(annotations).toEqual({ summary: expect.stringMatching(/.+/), description: expect.stringMatching(/\.$/) })
      expect(page).toContain(`\`${alert}\``)
    }
  })

  test('each is played in the cases', () => {
    const cases = readFileSync('test/alerts/cases.yaml', 'utf8')
    for (const { alert } of rules) if (alert) expect(cases).toContain(`alertname: ${alert}\n        exp_alerts`)
  })
})

describe('the board', () => {
  test.each(board.panels.map(panel => [panel.title, panel] as const))('%s asks for what is told', (_, panel) => {
    expect(panel.targets.length).toBeGreaterThan(0)
    expect(panel.targets.flatMap(({ expr }) => faultsOf(expr))).toEqual([])
  })

  test('has no panel on top of another', () => {
    const taken = new Set<string>()
    for (const { title, gridPos } of board.panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`), title).toBe(false)
          taken.add(`${x} ${y}`)
        }
      }
    }
  })
})
