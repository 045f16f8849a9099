import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  checkPrivateDirectory,
  copyPrivate,
  makePrivate,
  openPrivate,
  readPrivate,
  removeTemporaryFiles,
  writePrivate,
} from './private.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'mooring-private-'))
})
afterEach(() => rmSync(home, { recursive: true }))

const at = (name: string) => join(home, name)
const modeOf = (path: string) => statSync(path).mode & 0o777
const isRoot = process.getuid?.() === 0
const nobody = 65_534

describe('A private file', () => {
  test('is written whole, for its owner alone, and nothing is left beside it', () => {
    writePrivate(at('key'), 'one')
    writePrivate(at('key'), 'two')
    expect(readFileSync(at('key'), 'utf8')).toBe('two')
    expect(modeOf(at('key'))).toBe(0o600)
    expect(readdirSync(home)).toEqual(['key'])
  })

  test('takes the place of a link, and does not go where it leads', () => {
    writeFileSync(at('leak'), 'old', { mode: 0o666 })
    symlinkSync(at('leak'), at('key'))
    symlinkSync(at('leak'), at('key.new'))
    writePrivate(at('key'), 'secret')
    expect(lstatSync(at('key')).isFile()).toBe(true)
    expect(readFileSync(at('leak'), 'utf8')).toBe('old')
  })

  test('that cannot be put in its place leaves nothing behind', () => {
    mkdirSync(at('key'))
    expect(() => writePrivate(at('key'), 'secret')).toThrow('EISDIR')
    expect(readdirSync(home)).toEqual(['key'])
  })

  test.each([
    ['read', (path: string) => readPrivate(path)],
    ['opened', (path: string) => openPrivate(path)],
    ['made', (path: string) => makePrivate(path)],
  ])('is not %s through a link', (_, use) => {
    writeFileSync(at('theirs'), 'theirs')
    symlinkSync(at('theirs'), at('key'))
    expect(() => use(at('key'))).toThrow(`${at('key')} is a symbolic link`)
    symlinkSync(at('nowhere'), at('other'))
    expect(() => use(at('other'))).toThrow('is a symbolic link')
    expect(readdirSync(home)).not.toContain('nowhere')
  })

  test.runIf(isRoot)('of another user is not used', () => {
    writeFileSync(at('key'), 'theirs')
    chownSync(at('key'), nobody, nobody)
    expect(() => readPrivate(at('key'))).toThrow(`${at('key')} belongs to another user (uid ${nobody})`)
  })

  test('is not a pipe: the read would wait for ever', () => {
    execFileSync('mkfifo', [at('key')])
    expect(() => readPrivate(at('key'))).toThrow('is not a plain file')
  })

  test('that is readable for others is mended, and keeps what it holds', () => {
    writeFileSync(at('key'), 'mine')
    chmodSync(at('key'), 0o644)
    closeSync(openPrivate(at('key')))
    expect(modeOf(at('key'))).toBe(0o600)
    expect(readPrivate(at('key'))).toBe('mine')
    expect(readPrivate(at('nothing'))).toBeUndefined()
  })

  test('is what a copy is, whatever the original; a link is not copied', async () => {
    writeFileSync(at('original'), 'x'.repeat(200_000), { mode: 0o644 })
    await copyPrivate(at('original'), at('copy'))
    expect(readFileSync(at('copy')).equals(readFileSync(at('original')))).toBe(true)
    expect(modeOf(at('copy'))).toBe(0o600)
    await expect(copyPrivate(at('original'), at('copy'))).rejects.toThrow('EEXIST')
    symlinkSync(at('original'), at('link'))
    await expect(copyPrivate(at('link'), at('other'))).rejects.toThrow('ELOOP')
  })

  test('that a killed process had begun is found and removed', () => {
    writeFileSync(at('.ca.pem.0123456789abcdef.new'), 'half')
    writeFileSync(at('ca.pem'), 'whole')
    removeTemporaryFiles(home)
    expect(readdirSync(home)).toEqual(['ca.pem'])
  })
})

describe('A private directory', () => {
  test.each([0o755, 0o711, 0o770, 0o701, 0o702])('is not one with mode %o', mode => {
    mkdirSync(at('data'))
    chmodSync(at('data'), mode)
    expect(() => checkPrivateDirectory(at('data'))).toThrow('is open to other users')
    chmodSync(at('data'), 0o700)
    checkPrivateDirectory(at('data'))
  })

  test('may be open to its group, where that was asked for, but to no others', () => {
    mkdirSync(at('data'))
    chmodSync(at('data'), 0o2770)
    checkPrivateDirectory(at('data'), { isOpenToGroup: true })
    chmodSync(at('data'), 0o775)
    expect(() => checkPrivateDirectory(at('data'), { isOpenToGroup: true })).toThrow('(mode 775)')
  })

  test.runIf(isRoot)('is not one of another user, also behind a link of ours or in front of one of theirs', () => {
    mkdirSync(at('theirs'), { mode: 0o700 })
    chownSync(at('theirs'), nobody, nobody)
    symlinkSync(at('theirs'), at('link'))
    for (const name of ['theirs', 'link']) {
      expect(() => checkPrivateDirectory(at(name), { mayBeLink: true })).toThrow(`uid ${nobody}`)
    }
  })

  test('may be named through a link only where that is said', () => {
    mkdirSync(at('data'), { mode: 0o700 })
    symlinkSync(at('data'), at('link'))
    checkPrivateDirectory(at('link'), { mayBeLink: true })
    expect(() => checkPrivateDirectory(at('link'))).toThrow('is a symbolic link')
  })
})
