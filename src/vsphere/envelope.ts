// SOAP around a call of the vSphere API, and out of an answer.

import { childOf, childrenOf, parseXML, type XMLElement } from '../xml.ts'
import { type ManagedRef, printElement, printFields, schemaInstance, type VimFields } from './value.ts'

const soap = 'http://schemas.xmlsoap.org/soap/envelope/'

export interface VimCall {
  readonly method: string
  readonly this: ManagedRef
  readonly args: VimFields
}

export function printCall({ method, this: target, args }: VimCall): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<soapenv:Envelope xmlns:soapenv="${soap}" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="${schemaInstance}">`,
    `<soapenv:Body><${method} xmlns="urn:vim25">`,
    printElement('_this', target),
    printFields(args),
    `</${method}></soapenv:Body></soapenv:Envelope>`,
  ].join('')
}

/** What a call answered: the elements `returnval`, of which there may be none or many; or a fault. */
export type Answer = { readonly values: readonly XMLElement[] } | { readonly fault: XMLElement }

/** Undefined where the XML is something else. Throws `XMLSyntaxError`. */
export function readAnswer(text: string, method: string): Answer | undefined {
  const envelope = parseXML(text)
  if (envelope.name !== 'Envelope' || envelope.namespace !== soap) return undefined
  const body = childOf(envelope, 'Body')
  const fault = childOf(body, 'Fault')
  if (fault !== undefined) return { fault }
  const response = childOf(body, `${method}Response`)
  return response && { values: childrenOf(response, 'returnval') }
}
