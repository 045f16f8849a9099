// Checks of single values that many kinds share: ports, counts, percentages.

import { type Fault, invalid } from '../faults.ts'

export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'bigint') return Number(value)
  return typeof value === 'number' ? value : undefined
}

export function checkNotNegative(value: unknown, path: string): Fault[] {
  const number = numberOf(value)
  return number !== undefined && number < 0 ? [invalid(path, value, 'must be greater than or equal to 0')] : []
}

export function checkPort(value: unknown, path: string): Fault[] {
  const port = numberOf(value) ?? 0
  return port >= 1 && port <= 65_535 ? [] : [invalid(path, port, 'must be between 1 and 65535, inclusive')]
}

export function checkPortName(name: string): string[] {
  const complaints: string[] = []
  if (name.length > 15) complaints.push('must be no more than 15 characters')
  if (!/^[-a-z0-9]+$/.test(name))
    complaints.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  if (!/[a-z]/.test(name)) complaints.push('must contain at least one letter (a-z)')
  if (name.includes('--')) complaints.push('must not contain consecutive hyphens')
  if (name.startsWith('-') || name.endsWith('-')) complaints.push('must not begin or end with a hyphen')
  return complaints
}

export function checkPortOrName(value: unknown, path: string): Fault[] {
  if (typeof value === 'string') return checkPortName(value).map(complaint => invalid(path, value, complaint))
  return checkPort(value, path)
}

export function checkCountOrPercent(value: unknown, path: string): Fault[] {
  if (typeof value !== 'string') return checkNotNegative(value, path)
  if (/^[0-9]+%$/.test(value)) return []
  const rule = "a valid percent string must be a numeric string followed by an ending '%'"
  return [invalid(path, value, `${rule} (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`)]
}

export function checkAtMostAll(value: unknown, path: string): Fault[] {
  const percent = typeof value === 'string' && /^[0-9]+%$/.test(value) ? Number(value.slice(0, -1)) : 0
  return percent > 100 ? [invalid(path, value, 'must not be greater than 100%')] : []
}
