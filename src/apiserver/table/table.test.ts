import { describe, expect, it } from 'vitest'
import type { ServedKind } from '../kinds/kind.ts'
import type { KubeObject } from '../object.ts'
import { hasTable, parseIncludeObject, toTable } from './table.ts'

const now = new Date('2030-01-01T01:00:00Z')
const created = '2030-01-01T00:00:00Z'

const kindOf = (over: Partial<ServedKind>): ServedKind => ({
  group: '',
  version: 'v1',
  kind: 'Pod',
  listKind: 'PodList',
  plural: 'pods',
  singular: 'pod',
  shortNames: [],
  categories: [],
  namespaced: true,
  verbs: ['get', 'list'],
  subresources: [],
  schema: {},
  definitions: {},
  schemaName: 'io.k8s.api.core.v1.Pod',
  isCustom: false,
  behaviour: {},
  ...over,
})

const objectOf = (over: Record<string, unknown>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  ...over,
  metadata: { name: 'a', creationTimestamp: created, ...(over.metadata as object | undefined) },
})

const cellsOf = (kind: ServedKind, object: KubeObject) => toTable(kind, [object], { now, metadata: {} }).rows[0]?.cells

/** The cells under their column names. */
const shown = (kind: ServedKind, object: KubeObject) => {
  const table = toTable(kind, [object], { now, metadata: {} })
  return Object.fromEntries((table.columnDefinitions ?? []).map((column, i) => [column.name, table.rows[0]?.cells[i]]))
}

describe('tables', () => {
  it('carry the metadata of the list and of each object', () => {
    const metadata = { resourceVersion: '7', continue: 'next', remainingItemCount: 2 }
    const object = objectOf({ spec: {}, status: { phase: 'Pending' } })
    const table = toTable(kindOf({}), [object], { now, metadata, version: 'v1beta1' })
    expect(table).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1beta1', metadata })
    expect(table.rows[0]?.object).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1beta1',
      metadata: object.metadata,
    })
  })

  it('include the whole object or none of it when asked', () => {
    const object = objectOf({ spec: {} })
    const include = (includeObject: 'Object' | 'None') =>
      toTable(kindOf({}), [object], { now, metadata: {}, includeObject }).rows[0]?.object
    expect(include('Object')).toBe(object)
    expect(include('None')).toBeNull()
    expect(parseIncludeObject(null)).toBe('Metadata')
    expect(parseIncludeObject('Object')).toBe('Object')
    expect(() => parseIncludeObject('Foo')).toThrow(
      `Unable to convert to Table as requested: includeObject: Invalid value: "Foo": must be 'Metadata', 'Object', 'None', or empty`,
    )
  })

  it('name their columns once in a watch', () => {
    expect(toTable(kindOf({}), [], { now, metadata: {}, withHeaders: false }).columnDefinitions).toBeNull()
  })

  it('are refused for kinds that cannot be read', () => {
    const reviews = kindOf({ verbs: ['create'] })
    expect(hasTable(reviews)).toBe(false)
    expect(() => toTable(reviews, [], { now, metadata: {} })).toThrow(
      expect.objectContaining({ status: expect.objectContaining({ code: 406 }) }),
    )
  })

  it('show when an object of a kind without columns was made', () => {
    const roles = kindOf({ group: 'rbac.authorization.k8s.io', kind: 'Role' })
    const table = toTable(roles, [objectOf({})], { now, metadata: {} })
    expect(table.columnDefinitions?.map(column => [column.name, column.type])).toEqual([
      ['Name', 'string'],
      ['Created At', 'date'],
    ])
    expect(table.rows[0]?.cells).toEqual(['a', created])
  })
})

describe('the columns of custom kinds', () => {
  const holds = (columns?: ServedKind['columns']) =>
    kindOf({ group: 'mooring.dev', kind: 'Hold', isCustom: true, ...(columns && { columns }) })

  it('are name and age by default', () => {
    expect(cellsOf(holds(), objectOf({}))).toEqual(['a', '60m'])
    expect(cellsOf(holds([]), objectOf({}))).toEqual(['a', '60m'])
  })

  it('take their values by path and type', () => {
    const spec = {
      n: 3,
      big: 12345678901234567890n,
      half: 1.5,
      yes: true,
      text: 'x',
      at: created,
      never: 'x',
      list: [1, 2],
    }
    const column = (type: string, path: string) => ({ name: path, type, jsonPath: `.spec.${path}` })
    const kind = holds([
      column('integer', 'n'),
      column('integer', 'big'),
      column('integer', 'half'),
      column('integer', 'text'),
      column('number', 'half'),
      column('boolean', 'yes'),
      column('boolean', 'n'),
      column('string', 'text'),
      column('string', 'n'),
      column('string', 'list'),
      column('string', 'absent'),
      column('date', 'at'),
      column('date', 'never'),
      column('string', '[nonsense'),
    ])
    expect(cellsOf(kind, objectOf({ spec }))).toEqual([
      'a',
      3,
      12345678901234567890n,
      1,
      null,
      1.5,
      true,
      null,
      'x',
      '3',
      '[1,2]',
      null,
      '60m',
      '<invalid>',
    ])
  })

  it('keep priority, format and description', () => {
    const kind = holds([
      { name: 'X', type: 'string', jsonPath: '.spec.x', priority: 1, format: 'byte', description: 'd' },
    ])
    expect(toTable(kind, [], { now, metadata: {} }).columnDefinitions?.[1]).toEqual({
      name: 'X',
      type: 'string',
      format: 'byte',
      description: 'd',
      priority: 1,
    })
  })
})

describe('a pod in one line', () => {
  const pod = (spec: object, status: object, metadata: object = {}) =>
    shown(kindOf({}), objectOf({ spec, status, metadata }))
  const two = { containers: [{ name: 'a' }, { name: 'b' }] }

  it('is running when its containers are', () => {
    const status = {
      phase: 'Running',
      podIPs: [{ ip: '10.0.0.1' }],
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [
        {
          ready: true,
          restartCount: 2,
          state: { running: {} },
          lastState: { terminated: { finishedAt: '2030-01-01T00:58:00Z' } },
        },
        { ready: true, restartCount: 0, state: { running: {} } },
      ],
    }
    expect(pod({ ...two, nodeName: 'n1', readinessGates: [{ conditionType: 'Ready' }] }, status)).toEqual({
      Name: 'a',
      Ready: '2/2',
      Status: 'Running',
      Restarts: '2 (2m ago)',
      Age: '60m',
      IP: '10.0.0.1',
      Node: 'n1',
      'Nominated Node': '<none>',
      'Readiness Gates': '1/1',
    })
  })

  const waiting = (reason: string) => ({ state: { waiting: { reason } } })
  const terminated = (exitCode: number, reason?: string, signal?: number) => ({
    state: { terminated: { exitCode, ...(reason && { reason }), ...(signal && { signal }) } },
  })
  const init = { ...two, initContainers: [{ name: 'i' }, { name: 'j' }] }
  const deleted = { deletionTimestamp: created }
  it.each<[string, object, object, object]>([
    ['Pending', two, { phase: 'Pending' }, {}],
    ['Evicted', two, { phase: 'Failed', reason: 'Evicted' }, {}],
    [
      'SchedulingGated',
      two,
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] },
      {},
    ],
    ['CrashLoopBackOff', two, { phase: 'Running', containerStatuses: [waiting('CrashLoopBackOff')] }, {}],
    [
      'CrashLoopBackOff',
      two,
      { phase: 'Running', containerStatuses: [waiting('CrashLoopBackOff'), waiting('ContainerCreating')] },
      {},
    ],
    ['Error', two, { phase: 'Running', containerStatuses: [terminated(1, 'Error'), terminated(0, 'Completed')] }, {}],
    ['Error', two, { phase: 'Failed', containerStatuses: [terminated(0, 'Completed'), terminated(1, 'Error')] }, {}],
    ['Signal:9', two, { phase: 'Failed', containerStatuses: [terminated(137, '', 9)] }, {}],
    ['ExitCode:3', two, { phase: 'Failed', containerStatuses: [terminated(3)] }, {}],
    [
      'NotReady',
      two,
      { phase: 'Running', containerStatuses: [terminated(0, 'Completed'), { ready: true, state: { running: {} } }] },
      {},
    ],
    ['Init:0/2', init, { phase: 'Pending', initContainerStatuses: [{ name: 'i', state: { running: {} } }] }, {}],
    ['Init:1/2', init, { phase: 'Pending', initContainerStatuses: [terminated(0), waiting('PodInitializing')] }, {}],
    ['Init:ImagePullBackOff', init, { phase: 'Pending', initContainerStatuses: [waiting('ImagePullBackOff')] }, {}],
    ['Init:ExitCode:1', init, { phase: 'Pending', initContainerStatuses: [terminated(1)] }, {}],
    ['Terminating', two, { phase: 'Running' }, deleted],
    ['Succeeded', two, { phase: 'Succeeded' }, deleted],
    ['Unknown', two, { phase: 'Running', reason: 'NodeLost' }, deleted],
  ])('says %s', (expected, spec, status, metadata) => {
    expect(pod(spec, status, metadata).Status).toBe(expected)
  })

  it('counts started sidecars among its containers', () => {
    const spec = { containers: [{ name: 'a' }], initContainers: [{ name: 's', restartPolicy: 'Always' }] }
    const status = {
      phase: 'Running',
      initContainerStatuses: [{ name: 's', started: true, ready: true, restartCount: 1, state: { running: {} } }],
      containerStatuses: [{ ready: true, restartCount: 1, state: { running: {} } }],
    }
    expect(pod(spec, status)).toMatchObject({ Ready: '2/2', Restarts: '2', Status: 'Running' })
  })

  it('is marked as completed when it is over', () => {
    const row = toTable(kindOf({}), [objectOf({ status: { phase: 'Failed' } })], { now, metadata: {} }).rows[0]
    expect(row?.conditions).toEqual([
      { type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' },
    ])
  })
})

describe('other built-in kinds', () => {
  it.each<[string, string, object, object]>([
    [
      '',
      'Node',
      {
        metadata: { labels: { 'node-role.kubernetes.io/worker': '', 'kubernetes.io/role': 'edge' } },
        spec: { unschedulable: true },
        status: {
          conditions: [{ type: 'Ready', status: 'False' }],
          addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
          nodeInfo: { kubeletVersion: 'v1.35.4' },
        },
      },
      {
        Status: 'NotReady,SchedulingDisabled',
        Roles: 'edge,worker',
        Version: 'v1.35.4',
        'Internal-IP': '10.0.0.1',
        'External-IP': '<none>',
        'OS-Image': '<unknown>',
      },
    ],
    [
      '',
      'Service',
      {
        spec: {
          type: 'LoadBalancer',
          clusterIPs: ['10.96.0.9'],
          ports: [
            { port: 80, protocol: 'TCP', nodePort: 30080 },
            { port: 53, protocol: 'UDP' },
          ],
          selector: { b: '2', a: '1' },
        },
      },
      {
        Type: 'LoadBalancer',
        'Cluster-IP': '10.96.0.9',
        'External-IP': '<pending>',
        'Port(s)': '80:30080/TCP,53/UDP',
        Selector: 'a=1,b=2',
      },
    ],
    [
      'apps',
      'Deployment',
      {
        spec: {
          replicas: 3,
          selector: { matchExpressions: [{ key: 'b', operator: 'Exists' }], matchLabels: { a: '1' } },
          template: {
            spec: {
              containers: [
                { name: 'x', image: 'i:1' },
                { name: 'y', image: 'i:2' },
              ],
            },
          },
        },
        status: { readyReplicas: 2, updatedReplicas: 3 },
      },
      {
        Ready: '2/3',
        'Up-to-date': 3,
        Available: 0,
        Containers: 'x,y',
        Images: 'i:1,i:2',
        Selector: 'a=1,b',
      },
    ],
    [
      'batch',
      'Job',
      {
        spec: { parallelism: 2 },
        status: { succeeded: 1, startTime: created, completionTime: '2030-01-01T00:03:20Z' },
      },
      { Status: 'Running', Completions: '1/1 of 2', Duration: '3m20s' },
    ],
    [
      '',
      'Event',
      {
        involvedObject: { kind: 'Pod', name: 'p' },
        type: 'Normal',
        reason: 'Bound',
        message: ' hello\n',
        source: { component: 'mooring', host: 'h' },
        lastTimestamp: '2030-01-01T00:59:00Z',
        firstTimestamp: created,
        count: 4,
      },
      { 'Last Seen': '60s', Object: 'pod/p', Source: 'mooring, h', Message: 'hello', 'First Seen': '60m', Count: 4 },
    ],
    [
      'events.k8s.io',
      'Event',
      { regarding: { kind: 'Pod', name: 'p' }, note: 'n', eventTime: created, reportingController: 'c' },
      { 'Last Seen': '60m', Object: 'pod/p', Source: 'c', Message: 'n', Count: 1 },
    ],
    [
      'rbac.authorization.k8s.io',
      'ClusterRoleBinding',
      {
        roleRef: { kind: 'ClusterRole', name: 'r' },
        subjects: [
          { kind: 'User', name: 'u' },
          { kind: 'ServiceAccount', namespace: 'n', name: 's' },
          { kind: 'Group', name: 'g' },
          { kind: 'Group', name: 'h' },
        ],
      },
      { Role: 'ClusterRole/r', Users: 'u', Groups: 'g, h', ServiceAccounts: 'n/s' },
    ],
    [
      '',
      'Endpoints',
      {
        subsets: [
          { addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }], ports: [{ port: 1 }, { port: 2 }] },
          { addresses: [{ ip: '10.0.0.3' }] },
        ],
      },
      { Endpoints: '10.0.0.1:1,[fd00::1]:1,10.0.0.1:2 + 2 more...' },
    ],
    [
      'discovery.k8s.io',
      'EndpointSlice',
      { ports: [{ port: 1 }, { name: 'x' }, {}], endpoints: [{ addresses: ['a', 'b'] }, { addresses: ['c', 'd'] }] },
      { Ports: '1,x,*', Endpoints: 'a,b,c + 1 more...' },
    ],
    [
      'autoscaling',
      'HorizontalPodAutoscaler',
      {
        spec: { maxReplicas: 5, targetCPUUtilizationPercentage: 80, scaleTargetRef: { kind: 'Deployment', name: 'd' } },
      },
      { Reference: 'Deployment/d', Targets: 'cpu: <unknown>/80%', MinPods: '<unset>', MaxPods: 5 },
    ],
    [
      '',
      'ResourceQuota',
      { status: { hard: { pods: '3', 'limits.cpu': '2' }, used: { pods: '1' } } },
      { Request: 'pods: 1/3', Limit: 'limits.cpu: 0/2' },
    ],
    [
      'certificates.k8s.io',
      'CertificateSigningRequest',
      {
        spec: { signerName: 's', username: 'u', expirationSeconds: 3600 },
        status: { conditions: [{ type: 'Approved' }], certificate: 'eA==' },
      },
      { RequestedDuration: '60m', Condition: 'Approved,Issued' },
    ],
    [
      'apiregistration.k8s.io',
      'APIService',
      { spec: {}, status: { conditions: [{ type: 'Available', status: 'False', reason: 'Gone' }] } },
      { Service: 'Local', Available: 'False (Gone)' },
    ],
  ])('%s %s', (group, kind, object, expected) => {
    expect(shown(kindOf({ group, kind }), objectOf(object as Record<string, unknown>))).toMatchObject(expected)
  })
})
