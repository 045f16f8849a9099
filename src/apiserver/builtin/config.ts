// ConfigMaps and Secrets: data by key, which cannot change when `immutable` is set.

import { JSONSyntaxError, parseJSON } from '../../json.ts'
import { at, type Fault, forbidden, invalid, required, tooLong } from '../faults.ts'
import type { Behaviour } from '../kinds/kind.ts'
import { regexComplaint } from '../names.ts'
import { equal, type KubeObject, setOwn } from '../object.ts'
import { ensure, fill, part, text, textMap } from './fields.ts'

const bytesMax = 1024 * 1024
const redacted = '<secret contents redacted>'

export const configMaps: Behaviour = {
  validate(object) {
    const data = textMap(object.data)
    const binary = textMap(object.binaryData)
    const faults: Fault[] = []
    for (const key of Object.keys(data)) {
      faults.push(...checkKey(key, 'data'))
      if (!Object.hasOwn(binary, key)) continue
      faults.push(invalid(at('data', key), key, 'duplicate of key present in binaryData'))
    }
    for (const key of Object.keys(binary)) faults.push(...checkKey(key, 'binaryData'))
    const size = sum(Object.values(data).map(value => Buffer.byteLength(value))) + decodedSize(binary)
    if (size > bytesMax) faults.push(tooLong('', bytesMax))
    return faults
  },
  validateUpdate: (object, old) => checkImmutable(object, old, ['data', 'binaryData']),
}

export const secrets: Behaviour = {
  applyDefaults(object) {
    fill(object, 'type', 'Opaque')
    const plain = part(object, 'stringData')
    if (plain === undefined) return
    const data = ensure(object, 'data')
    if (data === undefined) return
    for (const [key, value] of Object.entries(plain)) {
      if (typeof value === 'string') setOwn(data, key, Buffer.from(value).toString('base64'))
    }
    delete object.stringData
  },
  prepareForUpdate(object, old) {
    fill(object, 'type', old.type)
  },
  validate(object) {
    const data = textMap(object.data)
    const faults = Object.keys(data).flatMap(key => checkKey(key, 'data'))
    if (decodedSize(data) > bytesMax) faults.push(tooLong('data', bytesMax))
    return [...faults, ...checkSecretType(object, data)]
  },
  validateUpdate(object, old) {
    const faults: Fault[] = []
    if (object.type !== old.type) faults.push(invalid('type', object.type, 'field is immutable'))
    return [...faults, ...checkImmutable(object, old, ['data'])]
  },
  fields: { type: object => text(object.type) },
}

const accountName = 'kubernetes.io/service-account.name'

function checkSecretType(object: KubeObject, data: Record<string, string>): Fault[] {
  const missing = (key: string): Fault[] => (Object.hasOwn(data, key) ? [] : [required(at('data', key))])
  switch (object.type) {
    case 'kubernetes.io/service-account-token':
      if (text(object.metadata.annotations?.[accountName]) !== '') return []
      return [required(at('metadata.annotations', accountName))]
    case 'kubernetes.io/dockercfg':
      return checkJSONKey(data, '.dockercfg')
    case 'kubernetes.io/dockerconfigjson':
      return checkJSONKey(data, '.dockerconfigjson')
    case 'kubernetes.io/basic-auth':
      if (Object.hasOwn(data, 'username') || Object.hasOwn(data, 'password')) return []
      return [...missing('username'), ...missing('password')]
    case 'kubernetes.io/ssh-auth':
      return text(data['ssh-privatekey']) === '' ? [required(at('data', 'ssh-privatekey'))] : []
    case 'kubernetes.io/tls':
      return [...missing('tls.crt'), ...missing('tls.key')]
    default:
      return []
  }
}

function checkJSONKey(data: Record<string, string>, key: string): Fault[] {
  const encoded = Object.hasOwn(data, key) ? data[key] : undefined
  if (encoded === undefined) return [required(at('data', key))]
  try {
    parseJSON(Buffer.from(encoded, 'base64').toString('utf8'))
    return []
  } catch (error) {
    if (!(error instanceof JSONSyntaxError)) throw error
    return [invalid(at('data', key), redacted, error.message)]
  }
}

function checkImmutable(object: KubeObject, old: KubeObject, fields: readonly string[]): Fault[] {
  if (old.immutable !== true) return []
  const why = 'field is immutable when `immutable` is set'
  const faults = object.immutable === true ? [] : [forbidden('immutable', why)]
  for (const field of fields) if (!equal(object[field], old[field])) faults.push(forbidden(field, why))
  return faults
}

function checkKey(key: string, path: string): Fault[] {
  const complaints: string[] = []
  if (key.length > 253) complaints.push('must be no more than 253 characters')
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) {
    const rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    complaints.push(regexComplaint(rule, '[-._a-zA-Z0-9]+', 'key.name', 'KEY_NAME', 'key-name'))
  }
  if (key === '.') complaints.push("must not be '.'")
  else if (key === '..') complaints.push("must not be '..'")
  else if (key.startsWith('..')) complaints.push("must not start with '..'")
  return complaints.map(complaint => invalid(at(path, key), key, complaint))
}

function decodedSize(data: Record<string, string>): number {
  return sum(Object.values(data).map(value => Buffer.byteLength(value, 'base64')))
}

const sum = (sizes: number[]): number => sizes.reduce((total, size) => total + size, 0)
