// The chapters of the CNI specification that concern an IPAM plugin, line by line: versions 0.3.1 to 1.1.0.

import { describe, expect, test } from 'vitest'
import { readCall } from './call.ts'
import { CNIError, codes, toErrorText, toResultText, toVersionText, type Version, versions } from './spec.ts'

const env = {
  CNI_COMMAND: 'ADD',
  CNI_CONTAINERID: 'abc',
  CNI_NETNS: '/run/netns/abc',
  CNI_IFNAME: 'net1',
  CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=red;K8S_POD_NAME=web-0;K8S_POD_UID=u-1',
  CNI_PATH: '/opt/cni/bin',
}
const config = { cniVersion: '1.1.0', name: 'blue', type: 'bridge', ipam: { type: 'mooring' } }

const read = (variables: object = {}, changes: object = {}) => {
  const kept = Object.entries({ ...env, ...variables }).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  )
  return readCall({ env: Object.fromEntries(kept), stdin: JSON.stringify({ ...config, ...changes }) })
}

const codeOf = (call: () => unknown): number => {
  try {
    call()
    return 0
  } catch (error) {
    if (error instanceof CNIError) return error.code
    throw error
  }
}

const given = {
  ips: [{ address: '10.0.0.5/24', gateway: '10.0.0.1' }, { address: 'fd00::5/64' }],
  routes: [{ dst: '0.0.0.0/0', gw: '10.0.0.1', mtu: 1400, table: 5 }],
  dns: { nameservers: ['10.0.0.2'], search: ['example.com'] },
}

describe('parameters', () => {
  test('a command is one of six, and the rest is refused as a fault of the environment', () => {
    for (const CNI_COMMAND of ['', 'add', 'UPDATE', undefined]) {
      expect(codeOf(() => read({ CNI_COMMAND }))).toBe(codes.environment)
    }
  })

  test.each([
    ['ADD', 'CNI_CONTAINERID', 4],
    ['ADD', 'CNI_NETNS', 4],
    ['ADD', 'CNI_IFNAME', 4],
    ['ADD', 'CNI_ARGS', 0],
    ['ADD', 'CNI_PATH', 0],
    ['DEL', 'CNI_CONTAINERID', 4],
    ['DEL', 'CNI_IFNAME', 4],
    ['DEL', 'CNI_NETNS', 0],
    ['DEL', 'CNI_ARGS', 0],
    ['CHECK', 'CNI_CONTAINERID', 4],
    ['CHECK', 'CNI_NETNS', 4],
    ['CHECK', 'CNI_IFNAME', 4],
    ['GC', 'CNI_CONTAINERID', 0],
    ['GC', 'CNI_IFNAME', 0],
    ['STATUS', 'CNI_NETNS', 0],
    ['VERSION', 'CNI_IFNAME', 0],
  ])('%s without %s is answered with code %i', (CNI_COMMAND, missing, code) => {
    const more = { prevResult: { ips: [] }, 'cni.dev/valid-attachments': [] }
    expect(codeOf(() => read({ CNI_COMMAND, [missing]: undefined }, more))).toBe(code)
  })

  test.each(['', '-a', '.a', 'a/b', '../x', 'a b', 'a\n', 'a'.repeat(300)])(
    'a container is not called %j',
    CNI_CONTAINERID => {
      expect(codeOf(() => read({ CNI_CONTAINERID }))).toBe(codes.environment)
    },
  )

  test.each(['.', '..', 'a/b', 'a:b', 'a b', 'a\tb', 'a\u0000', 'sixteen-letters!'])(
    'an interface is not called %j',
    CNI_IFNAME => {
      expect(codeOf(() => read({ CNI_IFNAME }))).toBe(codes.environment)
    },
  )

  test.each(['x', 'a;b', '=v', 'K8S_POD_NAMESPACE=../x;K8S_POD_NAME=a'])('arguments are not %j', CNI_ARGS => {
    expect(codeOf(() => read({ CNI_ARGS }))).toBe(codes.environment)
  })

  test('arguments that are not known are left alone, and the pod is read from them', () => {
    expect(read()).toMatchObject({ pod: { namespace: 'red', name: 'web-0', uid: 'u-1' } })
    expect(read({ CNI_ARGS: 'A=b;C=' })).toMatchObject({ pod: undefined })
  })
})

describe('configuration', () => {
  test.each(['', '{', '[]', 'null', '7', '"x"', '{"cniVersion":7}', '['.repeat(3_000)])(
    '%j cannot be decoded',
    stdin => {
      expect(codeOf(() => readCall({ env, stdin }))).toBe(codes.undecodable)
    },
  )

  test.each([undefined, '', '0.1.0', '0.2.0', '0.3.0', '1.2.0', '2.0.0', 'x'])(
    'version %j is not compatible',
    cniVersion => {
      expect(codeOf(() => read({}, { cniVersion }))).toBe(codes.incompatibleVersion)
    },
  )

  test.each(versions)('version %s is', cniVersion => {
    expect(read({}, { cniVersion })).toMatchObject({ version: cniVersion })
  })

  test.each([
    ['CHECK', '0.3.1', 1],
    ['CHECK', '0.4.0', 0],
    ['GC', '1.0.0', 1],
    ['GC', '1.1.0', 0],
    ['STATUS', '1.0.0', 1],
    ['STATUS', '1.1.0', 0],
    ['DEL', '0.3.1', 0],
  ])('%s came with a version: in %s it is answered with code %i', (CNI_COMMAND, cniVersion, code) => {
    const more = { prevResult: { ips: [] }, 'cni.dev/valid-attachments': [] }
    expect(codeOf(() => read({ CNI_COMMAND }, { cniVersion, ...more }))).toBe(code)
  })

  test.each([undefined, '', '-x', 'a/b', 'a b'])('a network is not called %j', name => {
    expect(codeOf(() => read({}, { name }))).toBe(codes.network)
    expect(codeOf(() => read({ CNI_COMMAND: 'DEL' }, { name }))).toBe(0)
  })

  test('CHECK needs the result of ADD, which DEL may have and ADD too', () => {
    expect(codeOf(() => read({ CNI_COMMAND: 'CHECK' }))).toBe(codes.network)
    const prevResult = { ips: [{ address: '10.0.0.5/24', interface: 0 }], interfaces: [{ name: 'net1' }] }
    for (const CNI_COMMAND of ['CHECK', 'DEL', 'ADD']) {
      expect(read({ CNI_COMMAND }, { prevResult })).toMatchObject({ previousIPs: ['10.0.0.5/24'] })
    }
    for (const wrong of [7, { ips: 7 }, { ips: [7] }, { ips: [{ address: 'x' }] }]) {
      expect(codeOf(() => read({ CNI_COMMAND: 'CHECK' }, { prevResult: wrong }))).toBe(codes.network)
    }
  })

  test('GC says which attachments stay: none of them is another thing than no word', () => {
    const key = 'cni.dev/valid-attachments'
    const valid = [{ containerID: 'abc', ifname: 'net1' }]
    expect(read({ CNI_COMMAND: 'GC' }, { [key]: valid })).toMatchObject({ valid })
    expect(read({ CNI_COMMAND: 'GC' }, { [key]: [] })).toMatchObject({ valid: [] })
    // So libcni writes the list of a runtime that has none.
    expect(read({ CNI_COMMAND: 'GC' }, { [key]: null })).toMatchObject({ valid: [] })
    for (const wrong of [undefined, {}, ['x'], [{ containerID: 'a' }]]) {
      expect(codeOf(() => read({ CNI_COMMAND: 'GC' }, { [key]: wrong }))).toBe(codes.network)
    }
  })
})

describe('a success', () => {
  test('of a delegated plugin has ips, routes and dns, and no interfaces', () => {
    const result = JSON.parse(toResultText('1.1.0', given))
    expect(result).toEqual({ cniVersion: '1.1.0', ...given })
    expect(Object.keys(result)).not.toContain('interfaces')
    for (const ip of result.ips) expect(Object.keys(ip)).not.toContain('interface')
  })

  test.each<[Version, string | undefined]>([
    ['0.3.1', '4'],
    ['0.4.0', '4'],
    ['1.0.0', undefined],
    ['1.1.0', undefined],
  ])('in version %s says %s as the version of an address', (version, family) => {
    const result = JSON.parse(toResultText(version, given))
    expect(result.cniVersion).toBe(version)
    expect(result.ips[0].version).toBe(family)
    if (family !== undefined) expect(result.ips[1].version).toBe('6')
  })

  test('has of a route what its version knows', () => {
    for (const version of ['0.3.1', '0.4.0', '1.0.0'] as const) {
      expect(JSON.parse(toResultText(version, given)).routes).toEqual([{ dst: '0.0.0.0/0', gw: '10.0.0.1' }])
    }
  })

  test('of VERSION repeats what was asked, and lists what is supported', () => {
    expect(JSON.parse(toVersionText('0.4.0'))).toEqual({ cniVersion: '0.4.0', supportedVersions: [...versions] })
    expect(JSON.parse(toVersionText(''))).toMatchObject({ cniVersion: '1.1.0' })
    expect(readCall({ env: { CNI_COMMAND: 'VERSION' }, stdin: '' })).toEqual({ verb: 'VERSION', asked: '' })
    expect(readCall({ env: { CNI_COMMAND: 'VERSION' }, stdin: '{"cniVersion":"9.0.0"}' })).toMatchObject({
      asked: '9.0.0',
    })
  })
})

test('an error has version, code, msg, and a sentence in details where there is one, none of any length', () => {
  const text = toErrorText('1.0.0', new CNIError(codes.tryAgainLater, 'not yet', 'x'.repeat(5_000)))
  expect(JSON.parse(text)).toEqual({ cniVersion: '1.0.0', code: 11, msg: 'not yet', details: 'x'.repeat(1_024) })
  expect(JSON.parse(toErrorText('1.0.0', new CNIError(codes.io, 'broken')))).toEqual({
    cniVersion: '1.0.0',
    code: 5,
    msg: 'broken',
  })
})
