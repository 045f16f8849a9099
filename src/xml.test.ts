import { describe, expect, test } from 'vitest'
import { xmlDepthMax, xmlElementsMax } from './limits.ts'
import { attributeOf, childOf, childrenOf, escapeXML, parseXML, textOf, XMLSyntaxError } from './xml.ts'

function refusalOf(text: string): XMLSyntaxError {
  try {
    parseXML(text)
  } catch (error) {
    if (error instanceof XMLSyntaxError) return error
    throw error
  }
  throw new Error('it was read')
}

describe('what is read', () => {
  test('names and attributes are told apart by namespace, whatever the prefix', () => {
    const root = parseXML('<a xmlns="urn:a" xmlns:p="urn:t"><b p:type="One" type="Two"/></a>')
    const b = childOf(root, 'b')
    if (b === undefined) throw new Error('there is no b')
    expect([root.namespace, b.namespace]).toEqual(['urn:a', 'urn:a'])
    expect(attributeOf(b, { name: 'type', namespace: 'urn:t' })).toBe('One')
    expect(attributeOf(b, { name: 'type' })).toBe('Two')
  })

  test('references and CDATA are text; white space around it is not told', () => {
    const root = parseXML('<a>\n  <b> x &amp; &#x41;<![CDATA[<y>]]> </b>\n  <b/>\n</a>')
    expect(textOf(root, 'b')).toBe('x & A<y>')
    expect(childrenOf(root, 'b').map(({ line }) => line)).toEqual([2, 3])
  })

  test('a mark of the byte order is no part of it', () => {
    expect(parseXML('\ufeff<?xml version="1.0"?><a/>').name).toBe('a')
  })

  test('what is escaped is read as it was', () => {
    const text = `a&b<c>"d"'e' \r\n\t ä`
    const root = parseXML(`<a b="${escapeXML(text.replaceAll(/[\r\n\t]/g, ' '))}">${escapeXML(text)}</a>`)
    expect(root.text).toBe(text)
    expect(attributeOf(root, { name: 'b' })).toBe(text.replaceAll(/[\r\n\t]/g, ' '))
  })

  test.each(['\u0000', '\u001b', '\ud800', '\uffff'])(
    'what XML cannot carry is refused and not repeated',
    character => {
      expect(() => escapeXML(`secret${character}`)).toThrow('the text has a character that XML cannot carry')
    },
  )
})

describe('what is refused', () => {
  test.each([
    [
      'a file as an entity',
      '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
      'a document type is not allowed here',
    ],
    ['a document type', '<!DOCTYPE a><a/>', 'a document type is not allowed here'],
    ['an unknown entity', '<a>&b;</a>', 'undefined entity'],
    ['tags that cross', '<a><b></a>', 'unexpected close tag'],
    ['an attribute twice', '<a b="1" b="2"/>', 'duplicate attribute: b'],
    ['a prefix without a namespace', '<p:a/>', 'unbound namespace prefix: "p"'],
    ['two roots', '<a/><b/>', 'documents may contain only one root'],
    ['nothing', '', 'document must contain a root element'],
    ['a tag that stays open', '<a>', 'unclosed tag: a'],
    ['too deep', '<a>'.repeat(xmlDepthMax + 1), `nested deeper than ${xmlDepthMax} elements`],
    ['too many', `<a>${'<b/>'.repeat(xmlElementsMax)}</a>`, `more than ${xmlElementsMax} elements`],
  ])('%s', (_, text, problem) => {
    expect(refusalOf(text).message).toBe(problem)
  })

  test('is told with its line and column', () => {
    const { line, column } = refusalOf('<a>\n  <b>\n</a>')
    expect([line, column]).toEqual([3, 5])
  })

  test('a name with hidden letters cannot reshape the message', () => {
    expect(refusalOf('<a\u200d>').message).toBe('unclosed tag: a\\u200d')
  })
})
