// The options of writes and deletes, as they stand in query parameters and bodies, checked once.

import { type Fault, forbidden, invalid, notSupported, tooLong } from './faults.ts'
import { isObject } from './object.ts'
import { badRequest, invalidObject } from './status.ts'
import { notRegistered } from './unregistered.ts'

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export interface WriteOptions {
  readonly dryRun: boolean
  readonly fieldManager: string
  readonly fieldValidation: FieldValidation
  /** Empty where the client did not say how strict to be. */
  readonly saidFieldValidation: FieldValidation | ''
  readonly force: boolean
}

export interface DeleteOptions {
  readonly dryRun: boolean
  readonly gracePeriodSeconds: number | undefined
  readonly propagationPolicy: 'Orphan' | 'Background' | 'Foreground' | undefined
  readonly orphanDependents: boolean | undefined
  readonly preconditions: { uid?: string; resourceVersion?: string }
}

/** A whole number of a query, as Go reads an int64; `undefined` where nothing is said. */
export function readInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  const value = Number(text)
  if (/^[+-]?\d+$/.test(text) && Number.isSafeInteger(value)) return value
  const why = /^[+-]?\d+$/.test(text) ? 'value out of range' : 'invalid syntax'
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`)
}

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions'

export function readWriteOptions(query: URLSearchParams, kind: OptionsKind, isApply = false): WriteOptions {
  const faults: Fault[] = []
  const manager = query.get('fieldManager') ?? ''
  const force = query.get('force')
  if (kind === 'PatchOptions') {
    if (isApply && manager === '') {
      faults.push({
        type: 'FieldValueRequired',
        field: 'fieldManager',
        message: 'Required value: is required for apply patch',
      })
    }
    if (!isApply && force !== null) faults.push(forbidden('force', 'may not be specified for non-apply patch'))
  }
  if (manager.length > 128) faults.push(tooLong('fieldManager', 128))
  faults.push(...checkPrintable('fieldManager', manager))
  faults.push(...checkDryRun(query.getAll('dryRun')))
  const validation = query.get('fieldValidation') ?? ''
  if (!['', 'Ignore', 'Warn', 'Strict'].includes(validation)) {
    faults.push(notSupported('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']))
  }
  if (faults.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind }, '', faults)
  return {
    dryRun: query.getAll('dryRun').includes('All'),
    fieldManager: manager,
    fieldValidation: validation === '' ? 'Warn' : (validation as FieldValidation),
    saidFieldValidation: validation as FieldValidation | '',
    force: force === 'true' || force === '1',
  }
}

/** Of a write that the server makes for itself. */
export const ownWriteOptions: WriteOptions = {
  dryRun: false,
  fieldManager: '',
  fieldValidation: 'Ignore',
  saidFieldValidation: '',
  force: false,
}

function checkPrintable(field: string, text: string): Fault[] {
  const faults: Fault[] = []
  let position = 0
  for (const letter of text) {
    if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(letter)) {
      const code = (letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      faults.push(invalid(field, text, `invalid character U+${code} (at position ${position})`))
    }
    position += Buffer.byteLength(letter)
  }
  return faults
}

/** Delete options come in the body; what the query says is used only where there is no body. */
export function readDeleteOptions(query: URLSearchParams, body: unknown): DeleteOptions {
  const given = isObject(body) ? body : fromQuery(query)
  refuseOtherOptions(given)
  const faults: Fault[] = []
  const policy = given.propagationPolicy ?? undefined
  const orphan = given.orphanDependents ?? undefined
  if (policy !== undefined && orphan !== undefined) {
    faults.push(invalid('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'))
  } else if (policy !== undefined && !['Foreground', 'Background', 'Orphan'].includes(String(policy))) {
    faults.push(notSupported('propagationPolicy', policy, ['Foreground', 'Background', 'Orphan', 'nil']))
  }
  const dryRun = Array.isArray(given.dryRun) ? given.dryRun.map(String) : query.getAll('dryRun')
  faults.push(...checkDryRun(dryRun))
  if (faults.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', faults)

  const preconditions = isObject(given.preconditions) ? given.preconditions : {}
  return {
    dryRun: dryRun.includes('All'),
    gracePeriodSeconds: typeof given.gracePeriodSeconds === 'number' ? given.gracePeriodSeconds : undefined,
    propagationPolicy: policy as DeleteOptions['propagationPolicy'],
    orphanDependents: typeof orphan === 'boolean' ? orphan : undefined,
    preconditions: {
      ...(typeof preconditions.uid === 'string' && { uid: preconditions.uid }),
      ...(typeof preconditions.resourceVersion === 'string' && {
        resourceVersion: preconditions.resourceVersion,
      }),
    },
  }
}

/** Every group has its own DeleteOptions, all alike; kube-apiserver does not know any other kind here. */
function refuseOtherOptions({ kind, apiVersion }: Record<string, unknown>): void {
  if (typeof kind !== 'string' || kind === '' || kind === 'DeleteOptions') return
  throw badRequest(notRegistered(typeof apiVersion === 'string' ? apiVersion : 'meta.k8s.io/v1', kind))
}

function fromQuery(query: URLSearchParams): Record<string, unknown> {
  const grace = query.get('gracePeriodSeconds')
  const orphan = query.get('orphanDependents')
  const policy = query.get('propagationPolicy')
  return {
    ...(grace !== null && { gracePeriodSeconds: Number(grace) }),
    ...(orphan !== null && { orphanDependents: orphan === 'true' }),
    ...(policy !== null && { propagationPolicy: policy }),
  }
}

function checkDryRun(values: readonly string[]): Fault[] {
  const bad = values.filter(value => value !== 'All')
  return bad.length === 0 ? [] : [notSupported('dryRun', bad, ['All'])]
}
