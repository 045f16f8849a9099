import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { installPlugin, uninstallPlugin } from './install.ts'

let home: string
let bin: string

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'mooring-plugin-'))
  bin = join(home, 'opt', 'cni', 'bin')
  writeFileSync(join(home, 'plugin'), 'first')
})

afterEach(() => rmSync(home, { recursive: true, force: true }))

test('the plugin is put in its place under the type of networks, executable, and one that is the same stays', () => {
  expect(installPlugin(join(home, 'plugin'), bin)).toBe('installed')
  expect(readdirSync(bin)).toEqual(['mooring'])
  expect(statSync(join(bin, 'mooring')).mode & 0o777).toBe(0o755)
  const before = statSync(join(bin, 'mooring')).ino
  expect(installPlugin(join(home, 'plugin'), bin)).toBe('there already')
  expect(statSync(join(bin, 'mooring')).ino).toBe(before)
})

test('another version is renamed over it, also where a process died half way and left its own', () => {
  installPlugin(join(home, 'plugin'), bin)
  writeFileSync(join(home, 'plugin'), 'second')
  writeFileSync(join(bin, 'mooring.new'), 'ha')
  chmodSync(join(bin, 'mooring.new'), 0o400)
  expect(installPlugin(join(home, 'plugin'), bin)).toBe('installed')
  expect(readFileSync(join(bin, 'mooring'), 'utf8')).toBe('second')
  expect(readdirSync(bin)).toEqual(['mooring'])
})

test('it is removed without a trace, and what is not there is no fault', () => {
  installPlugin(join(home, 'plugin'), bin)
  writeFileSync(join(bin, 'bridge'), 'another plugin')
  uninstallPlugin(bin)
  uninstallPlugin(bin)
  expect(readdirSync(bin)).toEqual(['bridge'])
})
