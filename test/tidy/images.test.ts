import { expect, test } from 'vitest'
import { read } from './sources.ts'

test('every base image is named by tag and digest', () => {
  const lines = read('Dockerfile').split('\n')
  const given = new Map(
    lines.flatMap(line => [...line.matchAll(/^ARG (\w+)=(.*)$/g)].map(([, name, image]) => [name, image])),
  )
  const bases = lines.flatMap(line => [...line.matchAll(/^FROM (\S+)/g)].map(([, image = '']) => image))
  expect(bases).not.toEqual([])
  const named = bases.map(image => given.get(image.replace(/^\$\{(\w+)\}$/, '$1')) ?? image)
  expect(named.filter(image => !/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/.test(image))).toEqual([])
})
