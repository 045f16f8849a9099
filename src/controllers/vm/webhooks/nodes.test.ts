// What a token that was stolen from a node is good for.

import { expect, test } from 'vitest'
import { compileExpression } from '../../../apiserver/cel/expression.ts'
import { nodeClaims } from './nodes.ts'

const variables = ['object', 'oldObject', 'request', 'authorizer']
const allowed = compileExpression(nodeClaims.allowedIf, variables)
const concerned = nodeClaims.matchConditions.map(({ expression }) => compileExpression(expression, variables))

const claim = (node: string | undefined, more: object = {}, spec: object = { network: 'blue', interface: 'net1' }) => ({
  metadata: { name: 'a', ...(node !== undefined && { labels: { 'mooring.dev/node': node } }), ...more },
  spec,
})
const by = (node: string | undefined, operation: string) => ({
  operation,
  userInfo: {
    username: 'system:serviceaccount:mooring-node:mooring-node',
    ...(node !== undefined && { extra: { 'authentication.kubernetes.io/node-name': [node] } }),
  },
})
const user =
  (...may: readonly string[]) =>
  (check: { resource: string; verb: string }) => ({
    allowed: may.includes(`${check.verb} ${check.resource}`),
    reason: '',
  })

test.each([
  ['makes a claim for its own node', claim('one'), null, by('one', 'CREATE'), true],
  ['makes none for another node', claim('two'), null, by('one', 'CREATE'), false],
  ['makes none that is not marked', claim(undefined), null, by('one', 'CREATE'), false],
  ['deletes a claim of its own node', null, claim('one'), by('one', 'DELETE'), true],
  ['deletes none of another node', null, claim('two'), by('one', 'DELETE'), false],
  ['deletes none of a virtual machine', null, claim(undefined), by('one', 'DELETE'), false],
  ['lets go of a claim of its own node', claim('one'), claim('one', { finalizers: ['a'] }), by('one', 'UPDATE'), true],
  ['lets go of none of another node', claim('two'), claim('two', { finalizers: ['a'] }), by('one', 'UPDATE'), false],
  ['takes no claim of another node over', claim('one'), claim('two'), by('one', 'UPDATE'), false],
  ['takes no claim of a virtual machine over', claim('one'), claim(undefined), by('one', 'UPDATE'), false],
  [
    'notes which pod uses a claim that no node made',
    claim(undefined, { annotations: { 'mooring.dev/used-by': 'x' } }),
    claim(undefined),
    by('one', 'UPDATE'),
    true,
  ],
  [
    'changes nothing else of it: no finalizer',
    claim(undefined),
    claim(undefined, { finalizers: ['kubevirt.io/persistent-ipam'] }),
    by('one', 'UPDATE'),
    false,
  ],
  [
    'changes nothing else of it: no spec',
    claim(undefined, {}, { network: 'red', interface: 'net1' }),
    claim(undefined),
    by('one', 'UPDATE'),
    false,
  ],
  ['writes nothing with a token that is bound to no node', claim('one'), null, by(undefined, 'CREATE'), false],
])('the agent of a node %s', (_, object, oldObject, request, answer) => {
  expect(allowed.evaluate({ object, oldObject, request })).toBe(answer)
})

test.each([
  ['the agent of a node', ['answer nodes'], true],
  ['the controller and administrators, who write the ledger itself', ['answer nodes', 'create holds'], false],
  ['any other user', [], false],
])('%s: whether it is judged', (_, may, answer) => {
  const isJudged = concerned.every(one => one.evaluate({ object: null, oldObject: null, request: {} }, user(...may)))
  expect(isJudged).toBe(answer)
})
