// Numbers about the running program, kept in memory and printed in the text form that Prometheus reads. A metric has a
// fixed list of labels and a bound on how many series it may come to: what a user can name cannot make memory grow. Past
// the bound everything new is counted together, under `other`.

export interface Metrics {
  counter(name: string, help: string, labels?: readonly string[], options?: CounterOptions): Counter
  histogram(name: string, help: string, bounds: readonly number[], labels?: readonly string[]): Histogram
  /** Read when the metrics are scraped: costs nothing before. */
  gauge(name: string, help: string, read: () => Reading): void
  /** As a gauge, of something that only grows. */
  total(name: string, help: string, read: () => Reading): void
  text(): string
}

/** One number, or one per values of its labels. */
export type Reading = number | { readonly labels: readonly string[]; readonly samples: Iterable<Sample> }

/** The values of the labels, and the number: as exact as its reader can take it. */
export type Sample = readonly [values: readonly string[], value: number | bigint]

export interface CounterOptions {
  /** Values of the labels that are known beforehand: they are printed as 0 until the first is counted. */
  readonly startAt?: readonly (readonly string[])[]
}

export interface Counter {
  /** One more. */
  add(...values: readonly string[]): void
  /** From now on these values of the labels are printed, as 0 if none was counted. */
  startAtZero(...values: readonly string[]): void
}

export interface Histogram {
  observe(value: number, ...labelValues: readonly string[]): void
}

/** Media type of the text form. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** From a tenth of a millisecond to ten seconds. */
export const secondsBounds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

const seriesMax = 2_000
/** What is read when scraped is not kept here, and only has to be printed. */
const samplesMax = 10_000

export function createMetrics(): Metrics {
  const printers = new Map<string, () => string[]>()
  const keep = (name: string, type: string, help: string, lines: () => string[]) => {
    if (printers.has(name)) throw new Error(`the metric ${name} is there already`)
    printers.set(name, () => [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...lines()])
  }
  const read = (type: 'gauge' | 'counter') => (name: string, help: string, reading: () => Reading) => {
    keep(name, type, help, () => readingLines(name, reading()))
  }

  return {
    counter(name, help, labels = [], { startAt = [] } = {}) {
      const series = createSeries(labels, () => ({ value: 0 }))
      for (const values of startAt) series.at(values)
      keep(name, 'counter', help, () => series.all().map(([shown, { value }]) => line(name, shown, value)))
      return {
        add: (...values) => {
          series.at(values).value++
        },
        startAtZero: (...values) => {
          series.at(values)
        },
      }
    },
    histogram(name, help, bounds, labels = []) {
      const series = createSeries(labels, () => ({ counts: new Float64Array(bounds.length + 1), sum: 0, count: 0 }))
      keep(name, 'histogram', help, () =>
        series.all().flatMap(([shown, one]) => histogramLines(name, shown, bounds, one)),
      )
      return {
        observe: (value, ...values) => {
          const one = series.at(values)
          one.sum += value
          one.count++
          let i = 0
          while (i < bounds.length && value > (bounds[i] ?? 0)) i++
          one.counts[i] = (one.counts[i] ?? 0) + 1
        },
      }
    },
    gauge: read('gauge'),
    total: read('counter'),
    text: () => `${[...printers.values()].flatMap(print => print()).join('\n')}\n`,
  }
}

interface Series<T> {
  at(values: readonly string[]): T
  /** With its labels as they are printed. */
  all(): [shown: string, one: T][]
}

function createSeries<T>(labels: readonly string[], make: () => T): Series<T> {
  const known = new Map<string, { shown: string; one: T }>()
  const add = (key: string, values: readonly string[]): T => {
    const shown = showLabels(labels, values)
    const one = make()
    known.set(key, { shown, one })
    return one
  }
  // Without labels there is one series, and it is there from the start.
  if (labels.length === 0) add('', [])
  const other = labels.map(() => 'other')
  const at = (values: readonly string[]): T => {
    const key = values.length === 1 ? (values[0] ?? '') : values.join('\n')
    const found = known.get(key)
    if (found !== undefined) return found.one
    if (known.size < seriesMax) return add(key, values)
    const rest = other.join('\n')
    return known.get(rest)?.one ?? add(rest, other)
  }
  return { at, all: () => [...known.values()].map(({ shown, one }) => [shown, one]) }
}

interface Observed {
  readonly counts: Float64Array
  readonly sum: number
  readonly count: number
}

function histogramLines(name: string, shown: string, bounds: readonly number[], one: Observed): string[] {
  const lines: string[] = []
  const comma = shown === '' ? '' : ','
  let below = 0
  for (const [i, bound] of bounds.entries()) {
    below += one.counts[i] ?? 0
    lines.push(line(`${name}_bucket`, `${shown}${comma}le="${bound}"`, below))
  }
  lines.push(line(`${name}_bucket`, `${shown}${comma}le="+Inf"`, one.count))
  return [...lines, line(`${name}_sum`, shown, one.sum), line(`${name}_count`, shown, one.count)]
}

function readingLines(name: string, reading: Reading): string[] {
  if (typeof reading === 'number') return [line(name, '', reading)]
  return sampleLines(name, reading.labels, reading.samples)
}

function sampleLines(name: string, labels: readonly string[], samples: Iterable<Sample>): string[] {
  const lines: string[] = []
  let rest: number | undefined
  for (const [values, value] of samples) {
    if (lines.length < samplesMax) lines.push(line(name, showLabels(labels, values), value))
    else rest = (rest ?? 0) + Number(value)
  }
  const other = labels.map(() => 'other')
  return rest === undefined ? lines : [...lines, line(name, showLabels(labels, other), rest)]
}

function showLabels(labels: readonly string[], values: readonly string[]): string {
  if (values.length !== labels.length) throw new Error(`expected the labels ${labels.join(', ')}`)
  return labels.map((label, i) => `${label}="${escapeValue(values[i] ?? '')}"`).join(',')
}

function line(name: string, shown: string, value: number | bigint): string {
  return `${name}${shown === '' ? '' : `{${shown}}`} ${value}`
}

function escapeValue(text: string): string {
  return text.replace(/[\\"\n]/g, mark => (mark === '\n' ? '\\n' : `\\${mark}`))
}

function escapeHelp(text: string): string {
  return text.replace(/[\\\n]/g, mark => (mark === '\n' ? '\\n' : '\\\\'))
}
