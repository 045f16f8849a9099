import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { isMalformed } from '../ip/malformed.ts'
import { parseNetworkSelections, toNetworksText } from './network-selection.ts'

const parse = (text: string | undefined) => orThrow(parseNetworkSelections(text, 'lab'))

describe('network selection elements', () => {
  test.each([[undefined], [''], ['  '], ['[]']])('%j selects nothing', text => {
    expect(parse(text)).toEqual([])
  })

  test('by commas are names, with a namespace and an interface where they say one', () => {
    const elements = parse('blue, other/red@eth1').map(({ namespace, name, interface: at }) => ({
      namespace,
      name,
      at,
    }))
    expect(elements).toEqual([
      { namespace: 'lab', name: 'blue', at: '' },
      { namespace: 'other', name: 'red', at: 'eth1' },
    ])
  })

  test('in JSON lose nothing when they are written back', () => {
    const text =
      '[{"name":"blue","ips":["10.0.0.5/24"],"cni-args":{"x":1},"default-route":["10.0.0.1"],"unknown":null}]'
    expect(toNetworksText(parse(text))).toBe(text)
    expect(parse(text)).toMatchObject([{ namespace: 'lab', name: 'blue', ips: ['10.0.0.5/24'], claim: '', mac: '' }])
  })

  test.each([
    '{"name":"blue"}',
    '[{"name":"blue"',
    '"blue"',
    '[1]',
    '[{}]',
    '[{"name":1}]',
    '[{"name":"a","ips":[1]}]',
    '[{"name":"a","ipam-claim-reference":{}}]',
    'a/b/c',
    'a@b@c',
    'Blue',
    'a,,b',
  ])('%s is refused', text => {
    expect(isMalformed(parseNetworkSelections(text, 'lab'))).toBe(true)
  })

  test('are read or refused, whatever they are', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), text => {
        const selections = parseNetworkSelections(text, 'lab')
        if (!isMalformed(selections)) expect(parse(toNetworksText(selections))).toEqual(selections)
      }),
    )
  })
})
