// Desks that are broken on purpose, each in one way that a mistake in the code could be: what they send is changed on its
// way. If the observers let one of them pass, they would let the mistake pass too.

import type { Wire, WireRequest } from '../../src/kube/wire.ts'
import { callOf } from './call.ts'
import type { Distort } from './world.ts'

interface Body {
  metadata?: {
    name?: string
    uid?: string
    resourceVersion?: string
    annotations?: Record<string, string>
    finalizers?: string[]
  }
  preconditions?: object
  status?: { state?: string; since?: string; until?: string }
}

const bodyOf = ({ body = '' }: WireRequest): Body => JSON.parse(body === '' ? '{}' : body) as Body

/** Answers the request to send instead, or nothing when it is left as it is. */
type Rewrite = (request: WireRequest, body: Body) => Body | undefined

const rewriting =
  (rewrite: Rewrite): Distort =>
  wire =>
  request => {
    if (request.method === 'GET') return wire(request)
    const body = rewrite(request, bodyOf(request))
    return wire(body === undefined ? request : { ...request, body: JSON.stringify(body) })
  }

const answering =
  (answer: (request: WireRequest, ...rest: Parameters<Distort>) => ReturnType<Wire> | undefined): Distort =>
  (wire, weather) =>
  request =>
    answer(request, wire, weather) ?? wire(request)

const reply = (status: number, body: object) => Promise.resolve({ status, headers: {}, body: JSON.stringify(body) })

export const brokenBuilds: Readonly<Record<string, Distort>> = {
  'reports an address without a hold': answering(request => {
    const { verb, kind } = callOf(request)
    if (verb !== 'create' || kind !== 'holds') return undefined
    const body = bodyOf(request)
    return reply(201, { ...body, metadata: { ...body.metadata, uid: 'never-stored', resourceVersion: '1' } })
  }),
  'writes without uid and version': rewriting((request, body) => {
    const { verb } = callOf(request)
    if (verb === 'delete') return { ...body, preconditions: {} }
    if (verb !== 'patch' || body.metadata === undefined) return undefined
    const { uid: _, resourceVersion: __, ...metadata } = body.metadata
    return { ...body, metadata }
  }),
  'takes for gone what its cache does not show': answering((request, _, { shown }) => {
    const { verb, kind, name } = callOf(request)
    if (verb !== 'get' || kind !== 'ipaddressclaims' || shown.has(`${kind} ${JSON.stringify(name)}`)) return undefined
    return reply(404, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', details: { name } })
  }),
  'gives addresses on without a rest': rewriting((request, body) => {
    const { verb, kind } = callOf(request)
    if (verb !== 'patch' || kind !== 'holds' || body.status?.state !== 'quarantined') return undefined
    return { ...body, status: { ...body.status, until: body.status.since ?? '' } }
  }),
  'reports before it has stored the choice': rewriting((request, body) => {
    const { verb, kind } = callOf(request)
    if (verb !== 'patch' || kind !== 'ipaddressclaims' || body.metadata?.annotations === undefined) return undefined
    const { annotations: _, ...metadata } = body.metadata
    return { ...body, metadata }
  }),
}
