// Answers in which the embedded server differs from a real kube-apiserver, on purpose. The lane fails when one of these
// becomes equal, so the list stays true.

export interface Difference {
  readonly story: string
  /** Verb and path as the story has them. */
  readonly request: string
  /** Where a story sends several bodies to one path: which. */
  readonly body?: unknown
  readonly reason: string
}

const unservedKinds =
  'Flow control, dynamic resource allocation, service CIDRs and component statuses have nothing behind them here, ' +
  'so they are not served; short names such as `ip` stay free for kinds about addresses.'
const nodeTaint = 'No controller here watches nodes, so a taint that says "not ready" would stay on a node for ever.'

const shownWhole =
  'What a patch makes of an object is shown whole when it is of no kind any more; its fields come in another order.'

export const differences: readonly Difference[] = [
  {
    story: 'config maps',
    request: 'PATCH /api/v1/namespaces/$NS/configmaps/a?fieldManager=m',
    body: 'not: [valid',
    reason: 'What is wrong with YAML is told in the words of the parser that reads it.',
  },
  {
    story: 'config maps',
    request: 'PATCH /api/v1/namespaces/$NS/configmaps/a',
    body: { kind: 'Secret' },
    reason: shownWhole,
  },
  {
    story: 'config maps',
    request: 'PATCH /api/v1/namespaces/$NS/configmaps/a',
    body: { apiVersion: 'v2' },
    reason: shownWhole,
  },
  {
    story: 'workloads',
    request: 'DELETE /apis/apps/v1/namespaces/$NS/deployments/d',
    reason: 'Nothing here runs workloads, so no controller has written a status into the deployment meanwhile.',
  },
  { story: 'other kinds', request: 'POST /api/v1/nodes', body: { metadata: { name: 'node-$NS' } }, reason: nodeTaint },
  { story: 'other kinds', request: 'GET /api/v1/componentstatuses', reason: unservedKinds },
  {
    story: 'definitions',
    request: 'PATCH /apis/story.example.com/v1/namespaces/$NS/gadgets/g',
    body: { apiVersion: 'story.example.com/v2' },
    reason: 'An object of a version that is not served has no schema, so none of its fields is called unknown.',
  },
  { story: 'documents', request: 'GET /api/v1', reason: unservedKinds },
  { story: 'documents', request: 'GET /api/v1/', reason: unservedKinds },
  { story: 'documents', request: 'GET /apis/networking.k8s.io/v1', reason: unservedKinds },
  {
    story: 'documents',
    request: 'GET /.well-known/openid-configuration',
    reason: 'The key that signs tokens is made here, and is one of elliptic curves: smaller, and quicker to make.',
  },
  {
    story: 'documents',
    request: 'HEAD /version',
    reason: 'A document that can be read can be asked about: HEAD is answered wherever GET is.',
  },
]
