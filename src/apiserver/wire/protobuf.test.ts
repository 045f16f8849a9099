import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseJSON } from '../../json.ts'
import { builtinDefinitions } from '../builtin/types.ts'
import type { KubeObject } from '../object.ts'
import { decodeProtobuf, encodeProtobuf, encodeWatchFrame, ProtobufError } from './protobuf.ts'

interface Sample {
  name: string
  protobuf: string
  json: KubeObject
}

/** Written by Kubernetes' own serializers: `scripts/builtin-types samples`, one per line. */
const samples = readFileSync(new URL('./protobuf.samples.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map(line => parseJSON(line).value as unknown as Sample)

const bytesOf = (sample: Sample): Buffer => Buffer.from(sample.protobuf, 'base64')
const sampleNamed = (name: string): Sample => {
  const sample = samples.find(candidate => candidate.name === name)
  if (sample === undefined) throw new Error(`no sample ${name}`)
  return sample
}

describe('decoding', () => {
  test.each(samples.map(sample => [sample.name, sample] as const))('reads %s as Go does', (_, sample) => {
    expect(decodeProtobuf(bytesOf(sample), builtinDefinitions)).toEqual(sample.json)
  })

  test('reads DeleteOptions that are named after a custom group', () => {
    const bytes = encodeProtobuf(
      { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Foreground' } as unknown as KubeObject,
      builtinDefinitions,
    )
    const renamed = Buffer.from((bytes ?? Buffer.alloc(0)).toString('latin1').replace('\x02v1', '\x02v7'), 'latin1')
    expect(decodeProtobuf(renamed, builtinDefinitions)).toEqual({
      apiVersion: 'v7',
      kind: 'DeleteOptions',
      propagationPolicy: 'Foreground',
    })
  })

  test('keeps a key called __proto__ as a key', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {},
      data: JSON.parse('{"__proto__":"x"}') as unknown,
    }
    const bytes = encodeProtobuf(object, builtinDefinitions)
    const read = decodeProtobuf(bytes ?? Buffer.alloc(0), builtinDefinitions)
    expect(Object.keys(read.data as object)).toEqual(['__proto__'])
  })
})

describe('encoding', () => {
  test.each(samples.map(sample => [sample.name, sample] as const))(
    'writes %s so that it reads back the same',
    (_, sample) => {
      const bytes = encodeProtobuf(sample.json, builtinDefinitions)
      expect(bytes && decodeProtobuf(bytes, builtinDefinitions)).toEqual(sample.json)
    },
  )

  test('has no form for a kind without a type', () => {
    expect(
      encodeProtobuf({ apiVersion: 'a.example/v1', kind: 'Any', metadata: {} }, builtinDefinitions),
    ).toBeUndefined()
  })

  test('frames a watch event by its length', () => {
    const frame = encodeWatchFrame('ADDED', Buffer.from('k8s\0x', 'latin1'))
    expect(frame.readUInt32BE(0)).toBe(frame.length - 4)
    expect(frame.subarray(4).toString('latin1')).toBe('\x0a\x05ADDED\x12\x07\x0a\x05k8s\0x')
  })
})

describe('bytes that are no object', () => {
  const envelope = (raw: number[]): Buffer =>
    Buffer.from([...Buffer.from('k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12', 'latin1'), raw.length, ...raw])

  test.each<[string, Buffer, string]>([
    ['nothing at all', Buffer.alloc(0), 'empty data'],
    ['JSON', Buffer.from('{}'), 'expected prefix [107 56 115 0]'],
    ['only the prefix', Buffer.from('k8s\0'), 'empty body'],
    ['no kind', Buffer.from('k8s\0\x0a\x04\x0a\x02v1', 'latin1'), "Object 'Kind' is missing"],
    ['no version', Buffer.from('k8s\0\x0a\x05\x12\x03Pod', 'latin1'), "Object 'apiVersion' is missing"],
    ['an unknown kind', Buffer.from('k8s\0\x0a\x09\x0a\x02v1\x12\x03Pud', 'latin1'), 'no kind "Pud" is registered'],
    ['a length beyond the end', envelope([0x0a, 0x7f]), 'unexpected EOF'],
    ['a length beyond all numbers', envelope([0x0a, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]), 'unexpected EOF'],
    ['a number that does not end', envelope([0x80]), 'unexpected EOF'],
    ['a number of too many bytes', envelope(Array(11).fill(0x80)), 'integer overflow'],
    ['field zero', envelope([0x02, 0x00]), 'illegal tag 0'],
    ['another wire type than the field has', envelope([0x08, 0x01]), 'wrong wireType = 0 for field 1'],
    ['a wire type that does not exist', envelope([0xfe, 0x07]), 'illegal wireType 6'],
    ['a group that does not end', envelope([0xfb, 0x07]), 'unexpected EOF'],
  ])('refuses %s', (_, bytes, message) => {
    expect(() => decodeProtobuf(bytes, builtinDefinitions)).toThrow(ProtobufError)
    expect(() => decodeProtobuf(bytes, builtinDefinitions)).toThrow(message)
  })

  test('passes over fields it does not know', () => {
    const unknown = [
      0xf8, 0x07, 0x01, 0xf9, 0x07, 1, 2, 3, 4, 5, 6, 7, 8, 0xfd, 0x07, 1, 2, 3, 4, 0xfb, 0x07, 0xfb, 0x07, 0xfc, 0x07,
      0xfc, 0x07,
    ]
    expect(decodeProtobuf(envelope(unknown), builtinDefinitions)).toMatchObject({
      kind: 'Pod',
      spec: { containers: null },
    })
  })

  test('refuses nesting without end', () => {
    const schema = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps'
    const number = builtinDefinitions[schema]?.properties?.not?.['x-proto'] ?? 0
    let bytes = Buffer.alloc(0)
    for (let i = 0; i < 1200; i++) bytes = Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
    const wrap = (field: number, inner: Buffer): Buffer =>
      Buffer.concat([varint(field * 8 + 2), varint(inner.length), inner])
    const crd = wrap(2, wrap(7, wrap(4, wrap(1, bytes))))
    const gvk = Buffer.concat([
      wrap(1, Buffer.from('apiextensions.k8s.io/v1')),
      wrap(2, Buffer.from('CustomResourceDefinition')),
    ])
    const body = Buffer.concat([Buffer.from('k8s\0'), wrap(1, gvk), wrap(2, crd)])
    expect(() => decodeProtobuf(body, builtinDefinitions)).toThrow('exceeded max depth')
  })

  test('whatever the damage, the answer is an object or a refusal', () => {
    const whole = bytesOf(sampleNamed('v1 Pod, 75% filled'))
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length), (position, byte, length) => {
        const damaged = Buffer.from(whole.subarray(0, length))
        if (position < damaged.length) damaged[position] = byte
        try {
          expect(decodeProtobuf(damaged, builtinDefinitions)).toHaveProperty('kind')
        } catch (error) {
          expect(error).toBeInstanceOf(ProtobufError)
        }
      }),
    )
  })
})

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Buffer.from([...bytes, rest])
}
