import { describe, expect, it } from 'vitest'
import { negotiateSwagger } from './openapi.ts'
import { type Swagger, toProtobuf } from './v2-protobuf.ts'

/** A protobuf message as [field number, value] pairs; nested messages stay bytes. */
function fieldsOf(content: Buffer): [number, Buffer | bigint | number][] {
  const fields: [number, Buffer | bigint | number][] = []
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = content[at++] ?? 0
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  while (at < content.length) {
    const key = Number(varint())
    if ((key & 7) === 0) fields.push([key >> 3, varint()])
    else if ((key & 7) === 1) {
      fields.push([key >> 3, content.readDoubleLE(at)])
      at += 8
    } else {
      const length = Number(varint())
      fields.push([key >> 3, content.subarray(at, at + length)])
      at += length
    }
  }
  return fields
}

function find(content: Buffer, ...path: number[]): Buffer | bigint | number | undefined {
  let found: Buffer | bigint | number | undefined = content
  for (const step of path) {
    if (!Buffer.isBuffer(found)) return undefined
    found = fieldsOf(found).find(([field]) => field === step)?.[1]
  }
  return found
}

const empty: Swagger = {
  swagger: '2.0',
  info: { title: 'Kubernetes', version: '1.35' },
  paths: {},
  definitions: {},
  securityDefinitions: {},
  security: [],
}

describe('version 2 in protobuf', () => {
  it('names itself', () => {
    const document = toProtobuf(empty)
    expect(String(find(document, 1))).toBe('2.0')
    expect(String(find(document, 2, 1))).toBe('Kubernetes')
    expect(String(find(document, 2, 2))).toBe('1.35')
  })

  it('writes schemas with their constraints and extensions', () => {
    const schema = {
      type: 'object',
      minimum: -1.5,
      maxLength: 300,
      required: ['a'],
      properties: { a: { $ref: '#/definitions/B' } },
      additionalProperties: { type: 'string' },
      'x-kubernetes-list-type': 'map',
    }
    const written = find(toProtobuf({ ...empty, definitions: { A: schema } }), 9, 1) as Buffer
    expect(String(find(written, 1))).toBe('A')
    const fields = find(written, 2) as Buffer
    expect(find(fields, 9)).toBe(-1.5)
    expect(find(fields, 11)).toBe(300n)
    expect(String(find(fields, 19))).toBe('a')
    expect(String(find(fields, 22, 1))).toBe('object')
    expect(String(find(fields, 25, 1, 1))).toBe('a')
    expect(String(find(fields, 25, 1, 2, 1))).toBe('#/definitions/B')
    expect(String(find(fields, 21, 1, 22, 1))).toBe('string')
    expect(String(find(fields, 31, 1))).toBe('x-kubernetes-list-type')
    expect(String(find(fields, 31, 2, 2))).toBe('"map"')
  })

  it('writes operations with parameters and answers', () => {
    const operation = {
      operationId: 'patchThing',
      parameters: [{ name: 'dryRun', in: 'query', type: 'string', uniqueItems: true }],
      responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/A' } } },
      'x-kubernetes-action': 'patch',
    }
    const path = find(toProtobuf({ ...empty, paths: { '/x': { patch: operation } } }), 8, 2) as Buffer
    expect(String(find(path, 1))).toBe('/x')
    const written = find(path, 2, 8) as Buffer
    expect(String(find(written, 5))).toBe('patchThing')
    const parameter = find(written, 8, 1, 2, 3) as Buffer
    expect(String(find(parameter, 4))).toBe('dryRun')
    expect(find(parameter, 20)).toBe(1n)
    expect(String(find(written, 9, 1, 1))).toBe('200')
    expect(String(find(written, 9, 1, 2, 1, 2, 1, 1))).toBe('#/definitions/A')
    expect(String(find(written, 13, 2, 2))).toBe('"patch"')
  })

  it.each([
    [undefined, 'json'],
    ['*/*', 'json'],
    ['application/json', 'json'],
    ['application/com.github.proto-openapi.spec.v2@v1.0+protobuf', 'protobuf'],
    ['application/com.github.proto-openapi.spec.v2.v1.0+protobuf, application/json', 'protobuf'],
    ['text/html', undefined],
  ])('for %j the form is %s', (accept, expected) => {
    expect(negotiateSwagger(accept)).toBe(expected)
  })
})
