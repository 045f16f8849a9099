// Requests that are sent to two servers to compare their answers. `$NS` is the story's own namespace.

import { applyPatch, asTable, jsonPatch, mergePatch, strategicPatch, type Verb } from './client.ts'

export interface Step {
  readonly verb: Verb
  readonly path: string
  readonly body?: unknown
  readonly type?: string
  readonly accept?: string
  /** Impersonate this user. */
  readonly as?: string
  /** Repeat until this code is answered. */
  readonly until?: number
  /** Fields that may differ, wherever they are. */
  readonly ignore?: readonly string[]
}

const get = (path: string, more: Partial<Step> = {}): Step => ({ verb: 'GET', path, ...more })
const post = (path: string, body: unknown, more: Partial<Step> = {}): Step => ({ verb: 'POST', path, body, ...more })
const put = (path: string, body: unknown, more: Partial<Step> = {}): Step => ({ verb: 'PUT', path, body, ...more })
const patch = (path: string, type: string, body: unknown, more: Partial<Step> = {}): Step => ({
  verb: 'PATCH',
  path,
  type,
  body,
  ...more,
})
const remove = (path: string, body?: unknown): Step => ({ verb: 'DELETE', path, ...(body !== undefined && { body }) })
const table = (path: string): Step => get(path, { accept: asTable })

const core = '/api/v1/namespaces/$NS'
const apps = '/apis/apps/v1/namespaces/$NS'
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'x:1' }] } }
const workload = (kind: string, name: string, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: { selector: { matchLabels: { a: 'b' } }, template, ...more },
})
const pod = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'example.com/x' }], ...spec },
})

const crd = (plural: string, version: object, more: object = {}) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.story.example.com` },
  spec: {
    group: 'story.example.com',
    scope: 'Namespaced',
    names: { plural, kind: plural.charAt(0).toUpperCase() + plural.slice(1, -1) },
    versions: [{ name: 'v1', served: true, storage: true, ...version }],
    ...more,
  },
})
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const schema = (spec: object, more: object = {}) => ({
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', ...spec },
        status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
  ...more,
})
const cr = '/apis/story.example.com/v1/namespaces/$NS'

export const stories: Record<string, readonly Step[]> = {
  'config maps': [
    post(`${core}/configmaps`, { metadata: { name: 'a' }, data: { x: '1' }, binaryData: { y: 'AAEC' } }),
    post(`${core}/configmaps`, { metadata: { name: 'b' }, data: { x: '1' }, binaryData: { x: 'AAEC' } }),
    post(`${core}/configmaps`, { metadata: { name: 'b' }, data: { 'bad key': '1', '..': 'x' } }),
    post(`${core}/configmaps`, {
      metadata: { name: 'b', labels: { 'a/b/c': 'x', ok: 'y'.repeat(64) }, annotations: { 'UP/x': '1', '': 'e' } },
    }),
    post(`${core}/configmaps`, { metadata: { name: 'b', generateName: 'c-', namespace: '$NS' } }),
    post(`${core}/configmaps`, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'z' } }),
    post(`${core}/configmaps`, { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'z' } }),
    post(`${core}/configmaps`, { apiVersion: 'none/v1', kind: 'Thing', metadata: { name: 'z' } }),
    post(`${core}/configmaps`, { kind: 'ConfigMap', metadata: { name: 5 } }),
    post(`${core}/configmaps`, { metadata: { name: 'z', labels: 'x' } }),
    post(`${core}/configmaps`, { metadata: { name: 'z', labels: { a: 1 } } }),
    post(`${core}/configmaps`, { metadata: [] }),
    post(`${core}/configmaps`, 'null'),
    post(`${core}/configmaps`, '{}'),
    post(`${core}/configmaps`, '{"metadata":{"name":"z"}} trailing'),
    post(`${core}/configmaps?fieldManager=${'x'.repeat(200)}`, { metadata: { name: 'z' } }),
    post(`${core}/configmaps?pretty=true&fieldManager=%01`, { metadata: { name: 'z' } }),
    get(`${core}/configmaps/a`),
    get(`${core}/configmaps/a?resourceVersion=999999999`),
    get(`${core}/configmaps?fieldSelector=metadata.name=a`),
    get(`${core}/configmaps?fieldSelector=a`),
    get(`${core}/configmaps?labelSelector=a%20b`),
    get(`${core}/configmaps?labelSelector=a%3D%3D%3Db`),
    get(`${core}/configmaps?labelSelector=-a%3Db`),
    get(`${core}/configmaps?labelSelector=a%3E%3Dx`),
    get(`${core}/configmaps?limit=x`),
    get(`${core}/configmaps?watch=maybe&timeoutSeconds=1`),
    get(`${core}/configmaps?timeoutSeconds=x`),
    get(`${core}/configmaps?resourceVersion=-1`),
    get(`${core}/configmaps?resourceVersionMatch=NotOlderThan`),
    get(`${core}/configmaps?continue=abc&resourceVersionMatch=Exact`),
    get(`${core}/configmaps?sendInitialEvents=true`),
    put(`${core}/configmaps/a`, { metadata: {} }),
    put(`${core}/configmaps/a`, { metadata: { name: 'a' }, data: { x: '2' } }),
    put(`${core}/configmaps/a`, { metadata: { name: 'a', uid: 'x' } }),
    put(`${core}/configmaps/a`, { metadata: { name: 'a', resourceVersion: '1' } }),
    put(`${core}/configmaps/a`, { metadata: { name: 'a', namespace: 'other' } }),
    patch(`${core}/configmaps/a`, mergePatch, { metadata: { labels: { 'bad!': 'x' } } }),
    patch(`${core}/configmaps/a`, mergePatch, { metadata: { name: 'b' } }),
    patch(`${core}/configmaps/a`, mergePatch, { metadata: { namespace: 'b' } }),
    patch(`${core}/configmaps/a`, mergePatch, { metadata: { resourceVersion: 'x' } }),
    patch(`${core}/configmaps/a`, mergePatch, { metadata: { creationTimestamp: null, generation: 7, selfLink: 'x' } }),
    patch(`${core}/configmaps/a`, mergePatch, { metadata: { deletionTimestamp: '2020-01-01T00:00:00Z' } }),
    patch(`${core}/configmaps/a`, mergePatch, { metadata: { finalizers: ['x'] } }),
    patch(`${core}/configmaps/a`, mergePatch, { metadata: { finalizers: ['example.com/x'], ownerReferences: [{}] } }),
    patch(`${core}/configmaps/a`, mergePatch, { kind: 'Secret' }),
    patch(`${core}/configmaps/a`, mergePatch, { apiVersion: 'v2' }),
    patch(`${core}/configmaps/a`, mergePatch, []),
    patch(`${core}/configmaps/a`, mergePatch, '"x"'),
    patch(`${core}/configmaps/a`, mergePatch, 'null'),
    patch(`${core}/configmaps/a`, jsonPatch, [{ op: 'bad', path: '/data' }]),
    patch(`${core}/configmaps/a`, jsonPatch, [{ op: 'add', path: 'data' }]),
    patch(`${core}/configmaps/a`, jsonPatch, [{ op: 'add', path: '/data/x/y', value: 1 }]),
    patch(`${core}/configmaps/a`, jsonPatch, [{ op: 'replace', path: '/metadata/name', value: 'z' }]),
    patch(`${core}/configmaps/a`, jsonPatch, [{ op: 'replace', path: '/data', value: null }]),
    patch(`${core}/configmaps/a`, jsonPatch, 'null'),
    patch(`${core}/configmaps/a`, jsonPatch, []),
    patch(`${core}/configmaps/a`, strategicPatch, { data: { $patch: 'what' } }),
    patch(`${core}/configmaps/a`, strategicPatch, { data: null }),
    patch(`${core}/configmaps/a`, strategicPatch, []),
    patch(`${core}/configmaps/a?fieldManager=m`, applyPatch, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'other' },
    }),
    patch(`${core}/configmaps/a?fieldManager=m`, applyPatch, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'a' },
    }),
    patch(`${core}/configmaps/a?fieldManager=m`, applyPatch, {
      apiVersion: 'v9',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
    }),
    patch(`${core}/configmaps/a?fieldManager=m`, applyPatch, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
      data: { x: 5 },
    }),
    patch(`${core}/configmaps/a?fieldManager=m`, applyPatch, 'not: [valid'),
    patch(`${core}/configmaps/a?fieldManager=m&force=maybe`, applyPatch, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
    }),
    patch(`${core}/configmaps/a?fieldManager=m`, applyPatch, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', labels: { 'b!': 'x' } },
    }),
    remove(`${core}/configmaps/a`, { gracePeriodSeconds: -5 }),
    remove(`${core}/configmaps/a`, { kind: 'Pod', apiVersion: 'v1' }),
    remove(`${core}/configmaps/a`, { propagationPolicy: 'Orphan', orphanDependents: true }),
    remove(`${core}/configmaps/a`, { unknown: 1 }),
    remove(`${core}/configmaps/nothing`),
    remove(`${core}/configmaps?labelSelector=x%3Dy`),
  ],
  secrets: [
    post(`${core}/secrets`, { metadata: { name: 'a' }, type: 'kubernetes.io/tls', data: {} }),
    post(`${core}/secrets`, {
      metadata: { name: 'a' },
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': 'x' },
    }),
    post(`${core}/secrets`, {
      metadata: { name: 'a' },
      type: 'kubernetes.io/basic-auth',
      stringData: { username: 'x' },
    }),
    post(`${core}/secrets`, { metadata: { name: 'b' }, type: 'kubernetes.io/service-account-token' }),
    patch(`${core}/secrets/a`, mergePatch, { stringData: { password: 'y' } }),
    patch(`${core}/secrets/a`, mergePatch, { data: { 'bad key': 'eA==' } }),
    patch(`${core}/secrets/a`, mergePatch, { immutable: true }),
    patch(`${core}/secrets/a`, mergePatch, { data: { username: 'eQ==' } }),
    table(`${core}/secrets`),
    get(`${core}/secrets?fieldSelector=type%3Dkubernetes.io/basic-auth`),
    remove(`${core}/secrets/a`),
  ],
  pods: [
    post(`${core}/pods`, pod('a')),
    post(`${core}/pods`, pod('b', { containers: [] })),
    post(
      `${core}/pods`,
      pod('b', { containers: [{ name: 'UP', image: '' }, { name: 'x' }], restartPolicy: 'Sometimes', dnsPolicy: 'x' }),
    ),
    post(
      `${core}/pods`,
      pod('b', {
        containers: [
          {
            name: 'c',
            image: 'x',
            ports: [{ containerPort: 99999 }],
            env: [{ name: '' }],
            volumeMounts: [{ name: 'none', mountPath: '' }],
          },
        ],
      }),
    ),
    post(`${core}/pods`, pod('b', { serviceAccountName: 'none' })),
    post(`${core}/pods`, pod('b', { priorityClassName: 'none' })),
    post(
      `${core}/pods`,
      pod('big', {
        containers: [
          {
            name: 'c',
            image: 'x@sha256:abc',
            resources: { limits: { cpu: '1', memory: '1Gi' } },
            ports: [{ containerPort: 80 }],
            livenessProbe: { httpGet: { port: 80 } },
            env: [{ name: 'N', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
          },
        ],
        initContainers: [{ name: 'i', image: 'y' }],
        volumes: [
          { name: 'v', emptyDir: {} },
          { name: 'cm', configMap: { name: 'x' } },
        ],
        tolerations: [{ key: 'a', operator: 'Exists' }],
      }),
    ),
    table(`${core}/pods`),
    get(`${core}/pods?fieldSelector=spec.nodeName%3D,status.phase%3DPending`),
    get(`${core}/pods?fieldSelector=spec.other%3D1`),
    patch(`${core}/pods/a`, strategicPatch, { spec: { containers: [{ name: 'c', image: 'new' }] } }),
    patch(
      `${core}/pods/a`,
      strategicPatch,
      { spec: { containers: [{ name: 'd', image: 'new' }] } },
      { ignore: ['message'] },
    ),
    patch(`${core}/pods/a`, mergePatch, { spec: { activeDeadlineSeconds: 5 } }),
    patch(`${core}/pods/a`, mergePatch, { metadata: { labels: { x: 'y' } } }),
    patch(`${core}/pods/a/status`, mergePatch, {
      status: {
        phase: 'Running',
        podIP: '10.0.0.1',
        podIPs: [{ ip: '10.0.0.1' }],
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    }),
    patch(`${core}/pods/a/status`, mergePatch, { status: { podIPs: [{ ip: 'x' }] } }),
    get(`${core}/pods/a/status`),
    get(`${core}/pods/a/log`),
    post(`${core}/pods/a/binding`, { target: { kind: 'Node' } }),
    post(`${core}/pods/a/binding`, { metadata: { name: 'a' }, target: { kind: 'Node', name: 'n1' } }),
    post(`${core}/bindings`, { metadata: { name: 'big' }, target: { kind: 'Node', name: 'n1' } }),
    table(`${core}/pods`),
    post(`${core}/pods/none/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'none' } }),
    post(`${core}/pods/a/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'b' } }),
    get(`${core}/pods/a/ephemeralcontainers`),
    remove(`${core}/pods/a`),
    remove(`${core}/pods/a`, { gracePeriodSeconds: 0 }),
    get(`${core}/pods/a`),
    remove(`${core}/pods/big?gracePeriodSeconds=0`),
  ],
  services: [
    post(
      `${core}/services`,
      { metadata: { name: 'a' }, spec: { ports: [{ port: 80 }], selector: { x: 'y' } } },
      { ignore: ['clusterIP', 'clusterIPs'] },
    ),
    post(`${core}/services`, { metadata: { name: 'b' }, spec: {} }),
    post(`${core}/services`, { metadata: { name: 'b' }, spec: { ports: [{ port: 1 }, { port: 1 }] } }),
    post(`${core}/services`, { metadata: { name: '1b' }, spec: { ports: [{ port: 1 }] } }),
    post(`${core}/services`, { metadata: { name: 'e' }, spec: { type: 'ExternalName', externalName: 'example.com' } }),
    post(`${core}/services`, { metadata: { name: 'h' }, spec: { clusterIP: 'None', ports: [{ port: 1 }] } }),
    post(`${core}/services`, { metadata: { name: 'x' }, spec: { type: 'Odd', ports: [{ port: 70000 }] } }),
    patch(`${core}/services/a`, mergePatch, { spec: { clusterIP: '10.96.255.1' } }, { ignore: ['message'] }),
    patch(`${core}/services/e`, mergePatch, { spec: { externalName: '' } }),
    remove(`${core}/services/h`),
    get(`${core}/services/e/status`),
  ],
  workloads: [
    post(`${apps}/deployments`, workload('Deployment', 'd', { replicas: 0 })),
    post(
      `${apps}/deployments`,
      workload('Deployment', 'e', { replicas: -1, selector: { matchLabels: { other: 'x' } } }),
    ),
    post(`${apps}/deployments`, workload('Deployment', 'e', { selector: null })),
    post(
      `${apps}/deployments`,
      workload('Deployment', 'e', {
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } },
      }),
    ),
    patch(`${apps}/deployments/d`, mergePatch, { spec: { selector: { matchLabels: { a: 'c' } } } }),
    get(`${apps}/deployments/d/scale`),
    patch(`${apps}/deployments/d/scale`, mergePatch, { spec: { replicas: -3 } }),
    put(`${apps}/deployments/d/scale`, { metadata: { name: 'x' }, spec: { replicas: 1 } }),
    post(`${apps}/statefulsets`, workload('StatefulSet', 's', { replicas: 0, serviceName: 'x' })),
    post(`${apps}/daemonsets`, workload('DaemonSet', 'ds')),
    post(`${apps}/replicasets`, workload('ReplicaSet', 'rs', { replicas: 0 })),
    post('/apis/batch/v1/namespaces/$NS/jobs', {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j' },
      spec: { suspend: true, template: { spec: { restartPolicy: 'Always', containers: [{ name: 'c', image: 'x' }] } } },
    }),
    post('/apis/batch/v1/namespaces/$NS/cronjobs', {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'c' },
      spec: {
        schedule: 'bad',
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'x' }] } } },
        },
      },
    }),
    remove(`${apps}/deployments/d`, { propagationPolicy: 'Orphan' }),
  ],
  'roles and reviews': [
    post(`${rbac}/namespaces/$NS/roles`, {
      metadata: { name: 'r' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    }),
    post(`${rbac}/namespaces/$NS/roles`, { metadata: { name: 's' }, rules: [{ resources: ['pods'], verbs: [] }] }),
    post(`${rbac}/namespaces/$NS/roles`, {
      metadata: { name: 's' },
      rules: [{ nonResourceURLs: ['/x'], verbs: ['get'] }],
    }),
    post(`${rbac}/namespaces/$NS/rolebindings`, {
      metadata: { name: 'rb' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'ServiceAccount', name: 'default' },
        { kind: 'Odd', name: '' },
      ],
    }),
    post(`${rbac}/namespaces/$NS/rolebindings`, {
      metadata: { name: 'rb' },
      roleRef: { kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'ServiceAccount', name: 'default', namespace: '$NS' },
      ],
    }),
    table(`${rbac}/namespaces/$NS/rolebindings`),
    get(`${core}/pods`, { as: 'u', until: 403 }),
    get(`${core}/pods/x`, { as: 'u', until: 404 }),
    post(
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      { spec: { user: 'u', resourceAttributes: { namespace: '$NS', verb: 'get', resource: 'pods' } } },
      { ignore: ['managedFields'] },
    ),
    post('/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec: { resourceAttributes: { verb: 'get' } } }),
    post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      spec: { user: 'u', resourceAttributes: {}, nonResourceAttributes: {} },
    }),
    post('/apis/authorization.k8s.io/v1/namespaces/$NS/localsubjectaccessreviews', {
      metadata: { namespace: '$NS' },
      spec: { user: 'u', resourceAttributes: { namespace: 'other', verb: 'get', resource: 'pods' } },
    }),
    post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: {} }),
    post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 'x' } }, { ignore: ['managedFields'] }),
    get('/apis/authorization.k8s.io/v1/subjectaccessreviews'),
    get(`${rbac}/clusterroles/view`, { ignore: ['managedFields'] }),
    get(`${rbac}/clusterroles/edit`, { ignore: ['managedFields'] }),
    get(`${rbac}/clusterroles/admin`, { ignore: ['managedFields'] }),
    get(`${rbac}/clusterroles/system:discovery`, { ignore: ['managedFields'] }),
    get(`${rbac}/clusterrolebindings/cluster-admin`, { ignore: ['managedFields'] }),
  ],
  'other kinds': [
    post('/apis/coordination.k8s.io/v1/namespaces/$NS/leases', {
      metadata: { name: 'l' },
      spec: { leaseDurationSeconds: 15, leaseTransitions: -1 },
    }),
    post('/apis/policy/v1/namespaces/$NS/poddisruptionbudgets', {
      metadata: { name: 'p' },
      spec: { minAvailable: 1, maxUnavailable: 1, selector: {} },
    }),
    post('/apis/policy/v1/namespaces/$NS/poddisruptionbudgets', {
      metadata: { name: 'p' },
      spec: { minAvailable: '50%', selector: { matchLabels: { a: 'b' } } },
    }),
    post('/apis/networking.k8s.io/v1/namespaces/$NS/networkpolicies', {
      metadata: { name: 'n' },
      spec: { podSelector: {} },
    }),
    post('/apis/networking.k8s.io/v1/namespaces/$NS/ingresses', { metadata: { name: 'i' }, spec: {} }),
    post('/apis/discovery.k8s.io/v1/namespaces/$NS/endpointslices', {
      metadata: { name: 'e' },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['x'] }],
    }),
    post('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name: 'pc-$NS' }, value: 2000000000 }),
    post('/apis/storage.k8s.io/v1/storageclasses', { metadata: { name: 'sc-$NS' }, provisioner: 'example.com/x' }),
    post(`${core}/persistentvolumeclaims`, { metadata: { name: 'pvc' }, spec: { accessModes: ['ReadWriteOnce'] } }),
    post(`${core}/resourcequotas`, { metadata: { name: 'q' }, spec: { hard: { pods: '5' } } }),
    post(`${core}/limitranges`, { metadata: { name: 'lr' }, spec: { limits: [{ type: 'Container' }] } }),
    post(`${core}/endpoints`, {
      metadata: { name: 'ep' },
      subsets: [{ addresses: [{ ip: 'x' }], ports: [{ port: 0 }] }],
    }),
    post(`${core}/serviceaccounts`, { metadata: { name: 'sa' } }),
    post(`${core}/serviceaccounts/sa/token`, { spec: { expirationSeconds: 5 } }),
    post(`${core}/serviceaccounts/none/token`, { spec: {} }),
    post(`${core}/events`, { metadata: { name: 'ev' }, involvedObject: { namespace: '$NS' } }),
    post('/apis/events.k8s.io/v1/namespaces/$NS/events', {
      metadata: { name: 'ev2' },
      regarding: { namespace: '$NS' },
    }),
    post('/api/v1/nodes', { metadata: { name: 'node-$NS' }, spec: { podCIDR: 'x' } }),
    post('/api/v1/nodes', { metadata: { name: 'node-$NS' } }),
    // A controller of the real cluster writes an annotation a moment later.
    get('/api/v1/nodes/node-$NS', { accept: asTable, ignore: ['annotations', 'managedFields'] }),
    post('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
      metadata: { name: 'w-$NS' },
      webhooks: [{ name: 'bad' }],
    }),
    post('/apis/certificates.k8s.io/v1/certificatesigningrequests', {
      metadata: { name: 'c-$NS' },
      spec: { request: 'eA==', signerName: 'x', usages: [] },
    }),
    post('/api/v1/namespaces', { metadata: { name: 'UP' } }),
    post('/api/v1/namespaces', { metadata: { name: 'x'.repeat(64) } }),
    patch('/api/v1/namespaces/$NS', mergePatch, { spec: { finalizers: ['x'] } }),
    patch('/api/v1/namespaces/$NS/status', mergePatch, { status: { phase: 'Odd' } }),
    get('/api/v1/namespaces/$NS', { ignore: ['managedFields'] }),
    table('/api/v1/namespaces/$NS'),
    get('/api/v1/componentstatuses', { ignore: ['items', 'metadata'] }),
  ],
  definitions: [
    post(crds, crd('gadgets', {})),
    post(
      crds,
      crd(
        'gadgets',
        schema({ properties: { a: { type: 'strange' }, b: { type: 'array' }, c: { type: 'string', minimum: 1 } } }),
      ),
    ),
    post(
      crds,
      crd(
        'gadgets',
        schema({ properties: { a: { $ref: '#/x' }, b: { type: 'object', additionalProperties: false } } }),
      ),
    ),
    post(
      crds,
      crd(
        'gadgets',
        schema({
          properties: {
            a: { type: 'object', properties: { x: { type: 'string' } }, additionalProperties: { type: 'string' } },
          },
        }),
      ),
    ),
    post(crds, crd('gadgets', schema({ properties: { a: { type: 'string', pattern: '(' } }, required: ['x', 'x'] }))),
    post(
      crds,
      crd(
        'gadgets',
        schema({ properties: { a: { type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object' } } } }),
      ),
    ),
    post(
      crds,
      crd(
        'gadgets',
        schema({
          'x-kubernetes-validations': [
            { rule: '' },
            { rule: 'self.a ==', message: 'x' },
            { rule: 'true', message: 'a\nb', reason: 'Odd', fieldPath: '.none' },
          ],
        }),
      ),
    ),
    post(
      crds,
      crd(
        'gadgets',
        schema(
          {},
          {
            subresources: { scale: { specReplicasPath: 'x' } },
            additionalPrinterColumns: [{ name: 'x', type: 'odd', jsonPath: 'y' }],
          },
        ),
      ),
    ),
    post(crds, crd('gadgets', schema({}), { scope: 'Odd', names: { plural: 'UP', kind: 'x y' } })),
    post(crds, crd('gadgets', schema({}), { versions: [] })),
    post(crds, crd('gadgets', schema({}), { conversion: { strategy: 'Webhook' } })),
    post(crds, crd('gadgets', schema({}), { preserveUnknownFields: true })),
    post(
      crds,
      crd(
        'gadgets',
        schema(
          {
            properties: {
              a: { type: 'integer', maximum: 5 },
              list: { type: 'array', items: { type: 'string' } },
              o: { type: 'object', properties: { x: { type: 'string' } } },
            },
          },
          {
            subresources: { status: {} },
            additionalPrinterColumns: [{ name: 'A', type: 'integer', jsonPath: '.spec.a' }],
          },
        ),
      ),
    ),
    // Names are accepted a moment after the definition is there, and the kind is served after that.
    get(`${cr}/gadgets`, { until: 200 }),
    get(`${crds}/gadgets.story.example.com`, { ignore: ['conditions', 'managedFields'] }),
    post(`${cr}/gadgets`, {
      apiVersion: 'story.example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'g' },
      spec: { a: 1 },
    }),
    post(`${cr}/gadgets`, { metadata: { name: 'h' }, spec: { a: 1 } }),
    post(`${cr}/gadgets`, { apiVersion: 'story.example.com/v1', kind: 'Other', metadata: { name: 'h' } }),
    post(`${cr}/gadgets`, { apiVersion: 'story.example.com/v2', kind: 'Gadget', metadata: { name: 'h' } }),
    post(`${cr}/gadgets`, { apiVersion: 'story.example.com/v1', kind: 'Gadget', metadata: { name: 'h' }, spec: 'x' }),
    post(`${cr}/gadgets`, {
      apiVersion: 'story.example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'h', labels: { a: 1 } },
      spec: {},
    }),
    post(`${cr}/gadgets`, {
      apiVersion: 'story.example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'UP' },
      spec: { list: [1, {}], o: { y: 1 } },
      extra: {},
    }),
    // Go visits properties in no order, so one request has one of them wrong.
    post(`${cr}/gadgets`, {
      apiVersion: 'story.example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'h' },
      spec: { a: 9 },
    }),
    post(`${cr}/gadgets`, { kind: 'Gadget', metadata: { name: 'h' }, spec: {} }),
    post(`${cr}/gadgets`, { apiVersion: 'story.example.com/v1', kind: 'Gadget', metadata: [], spec: {} }),
    post(`${cr}/gadgets`, { apiVersion: 'story.example.com/v1', kind: 5, metadata: { name: 'h' } }),
    patch(`${cr}/gadgets/g`, mergePatch, { kind: 'Other' }),
    patch(`${cr}/gadgets/g`, mergePatch, { apiVersion: 'story.example.com/v2' }),
    post(`${cr}/gadgets`, { apiVersion: 'story.example.com/v1', kind: 'Gadget', metadata: {}, spec: {} }),
    post(`${cr}/gadgets`, {
      apiVersion: 'story.example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'h', finalizers: ['bad'] },
      spec: {},
    }),
    put(`${cr}/gadgets/g`, { apiVersion: 'story.example.com/v1', kind: 'Gadget', metadata: { name: 'g' }, spec: {} }),
    put(`${cr}/gadgets/g/status`, {
      apiVersion: 'story.example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'g' },
      status: { x: 1 },
    }),
    patch(`${cr}/gadgets/g/status`, mergePatch, { status: { ready: true }, spec: { a: 5 } }),
    patch(`${cr}/gadgets/g`, jsonPatch, [{ op: 'replace', path: '/spec/a', value: 'x' }]),
    patch(`${cr}/gadgets/g`, jsonPatch, [{ op: 'remove', path: '/spec/none' }]),
    patch(`${cr}/gadgets/g`, mergePatch, { metadata: { generation: 99, labels: { x: 'y' } } }),
    patch(`${cr}/gadgets/g?fieldManager=m`, applyPatch, {
      apiVersion: 'story.example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'g' },
      spec: { a: 3 },
    }),
    patch(`${cr}/gadgets/g?fieldManager=m&force=true`, applyPatch, {
      apiVersion: 'story.example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'g' },
      spec: { a: 3, zzz: 1 },
    }),
    patch(`${cr}/gadgets/g?fieldManager=m&force=true`, applyPatch, {
      apiVersion: 'story.example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'g' },
      spec: { a: 3, o: { x: 'y' } },
    }),
    table(`${cr}/gadgets`),
    table(`${cr}/gadgets/g`),
    get(`${cr}/gadgets/g/scale`),
    get(`${cr}/gadgets?fieldSelector=spec.a%3D3`),
    get(`/apis/story.example.com/v1/gadgets/g`),
    get(`/apis/story.example.com/v9/gadgets`),
    get('/apis/story.example.com'),
    get('/apis/story.example.com/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/story.example.com/v1/namespaces/$NS/nothings'),
    put(`${crds}/gadgets.story.example.com`, { metadata: { name: 'gadgets.story.example.com' } }),
    patch(`${crds}/gadgets.story.example.com/status`, mergePatch, { status: { storedVersions: [] } }),
    remove(`${cr}/gadgets/g`, { propagationPolicy: 'Foreground' }),
    get(`${cr}/gadgets/g`, { until: 404 }),
  ],
  documents: [
    get('/api', { ignore: ['serverAddressByClientCIDRs'] }),
    get('/api/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/apps/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/rbac.authorization.k8s.io/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/apiextensions.k8s.io/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/coordination.k8s.io/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/events.k8s.io/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/policy/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/admissionregistration.k8s.io/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/authentication.k8s.io/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/authorization.k8s.io/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/batch/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/networking.k8s.io/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/storage.k8s.io/v1', { ignore: ['storageVersionHash'] }),
    get('/apis/none.example.com/v1'),
    get('/apis/apps/v2'),
    get('/api/v1/'),
    get('/version', {
      ignore: [
        'gitCommit',
        'gitTreeState',
        'buildDate',
        'goVersion',
        'compiler',
        'platform',
        'gitVersion',
        'minor',
        'emulationMinor',
        'emulationMajor',
        'minCompatibilityMajor',
        'minCompatibilityMinor',
      ],
    }),
    get('/healthz'),
    get('/livez/none'),
    get('/nothing'),
    get('/.well-known/openid-configuration'),
    post('/version', {}),
    { verb: 'HEAD', path: '/version' },
    { verb: 'OPTIONS', path: '/api/v1/namespaces' },
  ],
}
