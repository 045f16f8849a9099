// What can go wrong between us and a vCenter. Every message names the server; none has a password in it, since none is made of
// what was sent.

import { showHidden } from '../json.ts'
import { childOf, textOf, type XMLElement } from '../xml.ts'
import { typeOf } from './value.ts'

/** The server refused a call, or a task of it failed. */
export class VimFault extends Error {
  override readonly name = 'VimFault'
  /** The type of the fault: `InvalidLogin`, `NotAuthenticated`, `ManagedObjectNotFound`. */
  readonly fault: string

  constructor(message: string, fault: string) {
    super(message)
    this.fault = fault
  }
}

/** The server could not be reached, is not to be trusted, or does not answer as a vCenter does. */
export class VSphereConnectionError extends Error {
  override readonly name = 'VSphereConnectionError'
  /** SHA-256 of the certificate that was refused, in pairs with colons. */
  readonly thumbprint?: string

  constructor(message: string, { thumbprint, cause }: { thumbprint?: string; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    if (thumbprint !== undefined) this.thumbprint = thumbprint
  }
}

export function isVimFault(error: unknown, ...faults: readonly string[]): error is VimFault {
  return error instanceof VimFault && (faults.length === 0 || faults.includes(error.fault))
}

export const loginRefused = (host: string, userName: string): VimFault =>
  new VimFault(
    `${host} refuses the user ${shown(JSON.stringify(userName))}: check user name and password`,
    'InvalidLogin',
  )

/** Longer texts of a server are cut: a message is to be read. */
const shownCharsMax = 500

export const shown = (text: string): string =>
  showHidden(text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)}...` : text)

/** Of a `Fault` of SOAP. Its detail is one element with the type of the fault. */
export function faultOfAnswer(fault: XMLElement, what: string): VimFault {
  const detail = childOf(fault, 'detail')?.children[0]
  const type = (detail && (typeOf(detail) ?? detail.name.replace(/Fault$/, ''))) || 'Unknown'
  const sentence = textOf(fault, 'faultstring') || type
  return new VimFault(`${what}: ${shown(sentence)} (${shown(type)})`, type)
}

/** Of a `LocalizedMethodFault`: the error of a task, or why a property is missing. */
export function faultOfValue(error: XMLElement | undefined, what: string): VimFault {
  const inner = childOf(error, 'fault')
  const type = (inner && typeOf(inner)) ?? 'Unknown'
  const sentence = textOf(error, 'localizedMessage') || type
  return new VimFault(`${what}: ${shown(sentence)} (${shown(type)})`, type)
}
