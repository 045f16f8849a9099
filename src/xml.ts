// XML of servers and files that are not ours, as a tree. Names are told apart by namespace and local name, since prefixes are up
// to the writer. A document type is refused, and with it every entity but the five that XML itself has: nothing is fetched and
// nothing grows. Size, depth and number of elements are bounded. The grammar is the business of saxes.

import { SaxesParser, type SaxesTagNS } from 'saxes'
import { showHidden } from './json.ts'
import { xmlCharsMax, xmlDepthMax, xmlElementsMax } from './limits.ts'

export interface XMLElement {
  /** Without its prefix. */
  readonly name: string
  /** Its URI; empty where there is none. */
  readonly namespace: string
  readonly attributes: readonly XMLAttribute[]
  readonly children: readonly XMLElement[]
  /** What stands directly inside of it, without that of its children. */
  readonly text: string
  /** Where its opening tag ends, from 1. */
  readonly line: number
}

export interface XMLAttribute {
  readonly name: string
  readonly namespace: string
  readonly value: string
}

export class XMLSyntaxError extends Error {
  override readonly name = 'XMLSyntaxError'
  readonly line: number
  readonly column: number

  constructor(problem: string, line: number, column: number) {
    super(problem)
    this.line = line
    this.column = column
  }
}

interface Growing extends XMLElement {
  readonly children: Growing[]
  text: string
}

/** The root element. Throws `XMLSyntaxError`. */
export function parseXML(text: string): XMLElement {
  if (text.length > xmlCharsMax) throw new XMLSyntaxError(`more than ${xmlCharsMax} characters`, 1, 1)
  const parser = new SaxesParser({ xmlns: true, position: true })
  const open: Growing[] = []
  let root: Growing | undefined
  let elements = 0
  const refuse = (problem: string): never => {
    throw new XMLSyntaxError(problem, parser.line, parser.column + 1)
  }
  const addText = (part: string): void => {
    const element = open.at(-1)
    if (element !== undefined) element.text += part
  }

  parser.on('error', error => refuse(problemOf(error)))
  parser.on('doctype', () => refuse('a document type is not allowed here'))
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.on('opentag', tag => {
    if (++elements > xmlElementsMax) refuse(`more than ${xmlElementsMax} elements`)
    if (open.length >= xmlDepthMax) refuse(`nested deeper than ${xmlDepthMax} elements`)
    const element = toElement(tag, parser.line)
    open.at(-1)?.children.push(element)
    root ??= element
    open.push(element)
  })
  parser.on('closetag', () => {
    open.pop()
  })
  // Some servers and editors put a mark of the byte order first.
  parser.write(text.startsWith('\ufeff') ? text.slice(1) : text).close()
  return root ?? refuse('there is no element')
}

function toElement(tag: SaxesTagNS, line: number): Growing {
  const attributes = Object.values(tag.attributes).map(({ local, uri, value }) => ({
    name: local,
    namespace: uri,
    value,
  }))
  return { name: tag.local, namespace: tag.uri, attributes, children: [], text: '', line }
}

/** A message is to be read; it may repeat names of the text. */
const problemCharsMax = 200

/** The message of saxes begins with the position and ends with a stop. */
const problemOf = ({ message }: Error): string =>
  showHidden(
    message
      .replace(/^\d+:\d+: /, '')
      .replace(/\.$/, '')
      .slice(0, problemCharsMax),
  )

export function childrenOf(element: XMLElement, name: string): XMLElement[] {
  return element.children.filter(child => child.name === name)
}

/** The first of them. */
export function childOf(element: XMLElement | undefined, name: string): XMLElement | undefined {
  return element?.children.find(child => child.name === name)
}

/** Undefined where there is no such element; white space around the text is not part of it. */
export function textOf(element: XMLElement | undefined, name: string): string | undefined {
  return childOf(element, name)?.text.trim()
}

/** Whatever prefix it was written with. */
export function attributeOf(
  element: XMLElement,
  { name, namespace = '' }: { readonly name: string; readonly namespace?: string },
): string | undefined {
  return element.attributes.find(one => one.name === name && one.namespace === namespace)?.value
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** What XML has no way to write, not even as a reference. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const unwritable = /[\0-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/u

/** Of a text or an attribute. Throws where XML cannot carry it; the text itself, which may be a secret, is not repeated. */
export function escapeXML(text: string): string {
  if (unwritable.test(text)) throw new RangeError('the text has a character that XML cannot carry')
  // A bare carriage return would be read as the end of a line.
  return text.replace(/[&<>"']/g, character => escapes[character] ?? '').replaceAll('\r', '&#13;')
}
