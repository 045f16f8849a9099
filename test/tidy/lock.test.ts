import { describe, expect, test } from 'vitest'
import { type Lock, leftOut, unverified, withInstallScript } from './lock.ts'
import { read } from './sources.ts'

const lock = JSON.parse(read('package-lock.json')) as Lock
const integrity = `sha512-${'A'.repeat(86)}==`

describe('the lock file', () => {
  test('has a sha512 checksum for every package, those of other platforms included', () => {
    expect(Object.keys(lock.packages).length).toBeGreaterThan(100)
    expect(unverified(lock)).toEqual([])
    const packages = {
      '': {},
      dashboard: {},
      'node_modules/@mooring/dashboard': { link: true },
      'node_modules/a': { integrity },
      'node_modules/b': { integrity: 'sha1-AAAA' },
      'dashboard/node_modules/c': {},
    }
    expect(unverified({ packages })).toEqual(['node_modules/b', 'dashboard/node_modules/c'])
  })

  test('leaves out no optional package, so that it can be installed on every platform', () => {
    expect(leftOut(lock)).toEqual([])
    const packages = { 'node_modules/a': { integrity, optionalDependencies: { 'a-linux': '1.0.0' } } }
    expect(leftOut({ packages })).toEqual(['a-linux, of node_modules/a'])
  })

  test('is installed without running scripts of packages, and those that have one are known', () => {
    const settings = read('.npmrc').split('\n')
    expect(settings).toContain('ignore-scripts=true')
    const known = settings.find(line => line.startsWith(';') && line.includes('(')) ?? ''
    expect(withInstallScript(lock).toSorted()).toEqual(/\((.*)\)/.exec(known)?.[1]?.split(', ').toSorted())
  })
})
