// What `kubectl get` shows of the built-in kinds, column by column. The server fills in all columns, those of
// `-o wide` included; the client hides what it was not asked for.
//
// A column is written as its name; `:integer` and the like give its type when it is not text, and a leading `+` puts it
// among the wide ones.

import { type KubeObject, parseAPIVersion } from '../object.ts'
import { formatLabelSelector, fromLabelSelectorObject, type LabelSelectorObject } from '../selectors/labels.ts'
import { autoscalerTargets } from './autoscaler-targets.ts'
import { humanDuration, since } from './duration.ts'
import { count, entries, field, has, isTrue, list, text, texts } from './field.ts'
import { podCells, podConditions } from './pod-row.ts'

export type Cell = string | number | bigint | boolean | null

export interface ColumnDefinition {
  name: string
  type: string
  format: string
  description: string
  priority: number
}

export interface RowCondition {
  type: string
  status: string
  reason?: string
  message?: string
}

export interface Columns {
  readonly definitions: readonly ColumnDefinition[]
  readonly cells: (object: KubeObject, now: Date) => Cell[]
  readonly conditions?: (object: KubeObject) => RowCondition[] | undefined
}

/** The columns of a built-in kind; a kind without columns of its own shows name and creation time. */
export function columnsOf(kind: { readonly group: string; readonly kind: string }): Columns {
  return builtin.get(`${kind.group}/${kind.kind}`) ?? nameAndCreation
}

export const nameColumn: ColumnDefinition = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'The name of the object, unique among its kind within a namespace.',
  priority: 0,
}

export const creationDescription = 'When the object was created, by the clock of the server.'

const nameAndCreation: Columns = {
  definitions: [nameColumn, define('Created At:date')],
  cells: object => [nameOf(object), text(object, 'metadata', 'creationTimestamp')],
}

function define(text: string): ColumnDefinition {
  const isWide = text.startsWith('+')
  const [name = '', type = 'string'] = (isWide ? text.slice(1) : text).split(':')
  if (name === 'Name') return { ...nameColumn, priority: isWide ? 1 : 0 }
  const description = name === 'Age' || name === 'Created At' ? creationDescription : ''
  return { name, type, format: '', description, priority: isWide ? 1 : 0 }
}

type Cells = (object: KubeObject, now: Date) => Cell[]

function columns(names: readonly string[], cells: Cells): Columns {
  return { definitions: names.map(define), cells }
}

const nameOf = (object: KubeObject) => object.metadata.name ?? ''
const age = (object: KubeObject, now: Date) => since(object.metadata.creationTimestamp, now)

const containers = (template: unknown): [string, string] => {
  const all = list(template, 'spec', 'containers')
  return [all.map(c => text(c, 'name')).join(','), all.map(c => text(c, 'image')).join(',')]
}

function labels(value: unknown): string {
  const all = entries(value).map(([key, label]) => `${key}=${text(label)}`)
  return all.length === 0 ? '<none>' : all.sort().join(',')
}

function selector(value: unknown): string {
  try {
    const { requirements } = fromLabelSelectorObject(value as LabelSelectorObject | undefined)
    return formatLabelSelector(requirements) || '<none>'
  } catch {
    return '<error>'
  }
}

/** At most three, then how many more. */
function firstThree(all: readonly string[], none: string): string {
  if (all.length === 0) return none
  const shown = all.slice(0, 3).join(',')
  return all.length > 3 ? `${shown} + ${all.length - 3} more...` : shown
}

function loadBalancer(status: unknown): string {
  const addresses = list(status, 'loadBalancer', 'ingress').map(i => text(i, 'ip') || text(i, 'hostname'))
  return [...new Set(addresses.filter(address => address !== ''))].sort().join(',')
}

function externalIP(service: KubeObject): string {
  const external = texts(service, 'spec', 'externalIPs')
  switch (text(service, 'spec', 'type')) {
    case 'ClusterIP':
    case 'NodePort':
      return external.join(',') || '<none>'
    case 'LoadBalancer': {
      const balanced = loadBalancer(field(service, 'status'))
      return [balanced, ...external].filter(ip => ip !== '').join(',') || '<pending>'
    }
    case 'ExternalName':
      return text(service, 'spec', 'externalName')
    default:
      return '<unknown>'
  }
}

function servicePorts(service: KubeObject): string {
  const ports = list(service, 'spec', 'ports').map(port => {
    const nodePort = count(port, 'nodePort')
    return `${text(port, 'port')}${nodePort > 0 ? `:${nodePort}` : ''}/${text(port, 'protocol')}`
  })
  return ports.join(',') || '<none>'
}

function endpointAddresses(endpoints: KubeObject): string {
  const subsets = list(endpoints, 'subsets')
  if (subsets.length === 0) return '<none>'
  const all = subsets.flatMap(subset => {
    const ips = list(subset, 'addresses').map(address => text(address, 'ip'))
    const ports = list(subset, 'ports')
    if (ports.length === 0) return ips
    return ports.flatMap(port => ips.map(ip => `${ip.includes(':') ? `[${ip}]` : ip}:${text(port, 'port')}`))
  })
  return firstThree(all, '')
}

function accessModes(value: unknown): string {
  const given = new Set(texts(value))
  const short = [
    ['ReadWriteOnce', 'RWO'],
    ['ReadOnlyMany', 'ROX'],
    ['ReadWriteMany', 'RWX'],
    ['ReadWriteOncePod', 'RWOP'],
  ] as const
  return short.flatMap(([mode, abbreviation]) => (given.has(mode) ? [abbreviation] : [])).join(',')
}

function storageClassName(object: KubeObject): string {
  return (
    object.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? text(object, 'spec', 'storageClassName')
  )
}

const phaseOf = (object: KubeObject) =>
  has(object, 'metadata', 'deletionTimestamp') ? 'Terminating' : text(object, 'status', 'phase')

function condition(object: KubeObject, type: string): unknown {
  return list(object, 'status', 'conditions').find(candidate => text(candidate, 'type') === type)
}

function jobStatus(job: KubeObject): string {
  const isTrueNow = (type: string) => text(condition(job, type), 'status') === 'True'
  if (isTrueNow('Complete')) return 'Complete'
  if (isTrueNow('Failed')) return 'Failed'
  if (has(job, 'metadata', 'deletionTimestamp')) return 'Terminating'
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(isTrueNow) ?? 'Running'
}

function jobCompletions(job: KubeObject): string {
  const done = count(job, 'status', 'succeeded')
  if (has(job, 'spec', 'completions')) return `${done}/${count(job, 'spec', 'completions')}`
  const parallelism = count(job, 'spec', 'parallelism')
  return parallelism > 1 ? `${done}/1 of ${parallelism}` : `${done}/1`
}

function jobDuration(job: KubeObject, now: Date): string {
  const start = field(job, 'status', 'startTime')
  if (!has(start)) return ''
  const end = field(job, 'status', 'completionTime')
  return since(start, typeof end === 'string' ? new Date(end) : now)
}

function nodeStatus(node: KubeObject): string {
  const ready = condition(node, 'Ready')
  const first = ready === undefined ? 'Unknown' : text(ready, 'status') === 'True' ? 'Ready' : 'NotReady'
  return isTrue(node, 'spec', 'unschedulable') ? `${first},SchedulingDisabled` : first
}

function nodeRoles(node: KubeObject): string {
  const prefix = 'node-role.kubernetes.io/'
  const roles = Object.entries(node.metadata.labels ?? {}).map(([key, value]) => {
    if (key.startsWith(prefix)) return key.slice(prefix.length)
    return key === 'kubernetes.io/role' ? value : ''
  })
  return [...new Set(roles.filter(role => role !== ''))].sort().join(',') || '<none>'
}

function nodeAddress(node: KubeObject, type: string): string {
  return (
    text(
      list(node, 'status', 'addresses').find(a => text(a, 'type') === type),
      'address',
    ) || '<none>'
  )
}

function subjects(binding: KubeObject, kind: string): string {
  return list(binding, 'subjects')
    .filter(subject => text(subject, 'kind') === kind)
    .map(s => (kind === 'ServiceAccount' ? `${text(s, 'namespace')}/${text(s, 'name')}` : text(s, 'name')))
    .join(', ')
}

const bindingCells: Cells = (binding, now) => [
  nameOf(binding),
  `${text(binding, 'roleRef', 'kind')}/${text(binding, 'roleRef', 'name')}`,
  age(binding, now),
  subjects(binding, 'User'),
  subjects(binding, 'Group'),
  subjects(binding, 'ServiceAccount'),
]
const bindingColumns = ['Name', 'Role', 'Age', '+Users', '+Groups', '+ServiceAccounts']

/** Both kinds of event say the same with other field names. */
const eventCells: Cells = (event, now) => {
  const regarding = has(event, 'involvedObject') ? field(event, 'involvedObject') : field(event, 'regarding')
  const source = has(event, 'source') ? field(event, 'source') : field(event, 'deprecatedSource')
  const firstTime = field(event, 'firstTimestamp') ?? field(event, 'deprecatedFirstTimestamp')
  const lastTime = field(event, 'lastTimestamp') ?? field(event, 'deprecatedLastTimestamp')
  const first = since(has(firstTime) ? firstTime : field(event, 'eventTime'), now)
  const hasSeries = has(event, 'series')
  const last = hasSeries
    ? since(field(event, 'series', 'lastObservedTime'), now)
    : has(lastTime)
      ? since(lastTime, now)
      : first
  const times = count(event, 'count') || count(event, 'deprecatedCount') || 1
  const kind = text(regarding, 'kind').toLowerCase()
  const name = text(regarding, 'name')
  const component = text(source, 'component') || text(event, 'reportingComponent') || text(event, 'reportingController')
  const instance = text(source, 'host') || text(event, 'reportingInstance')
  return [
    last,
    text(event, 'type'),
    text(event, 'reason'),
    name === '' ? kind : `${kind}/${name}`,
    text(regarding, 'fieldPath'),
    instance === '' ? component : `${component}, ${instance}`,
    (text(event, 'message') || text(event, 'note')).trim(),
    first,
    hasSeries ? count(event, 'series', 'count') : times,
    nameOf(event),
  ]
}
const eventColumns = [
  'Last Seen',
  'Type',
  'Reason',
  'Object',
  '+Subobject',
  '+Source',
  'Message',
  '+First Seen',
  '+Count',
  '+Name',
]

function certificateStatus(request: KubeObject): string {
  const decision =
    condition(request, 'Denied') !== undefined
      ? 'Denied'
      : condition(request, 'Approved') !== undefined
        ? 'Approved'
        : 'Pending'
  const failed = condition(request, 'Failed') === undefined ? '' : ',Failed'
  return `${decision}${failed}${text(request, 'status', 'certificate') === '' ? '' : ',Issued'}`
}

function quota(object: KubeObject, isLimit: boolean): string {
  const used = field(object, 'status', 'used')
  return entries(object, 'status', 'hard')
    .filter(([resource]) => resource.startsWith('limits.') === isLimit)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([resource, hard]) => `${resource}: ${text(used, resource) || '0'}/${text(hard)}`)
    .join(', ')
}

function controllerOf(object: KubeObject): string {
  const owner = object.metadata.ownerReferences?.find(reference => reference.controller === true)
  if (owner === undefined) return '<none>'
  const { group } = parseAPIVersion(owner.apiVersion)
  return `${(group === '' ? owner.kind : `${owner.kind}.${group}`).toLowerCase()}/${owner.name}`
}

function parameterKind(policy: KubeObject): string {
  const kind = field(policy, 'spec', 'paramKind')
  return has(kind) ? `${text(kind, 'apiVersion')}/${text(kind, 'kind')}` : '<unset>'
}

function parameterRef(binding: KubeObject): string {
  const ref = field(binding, 'spec', 'paramRef')
  if (text(ref, 'name') !== '') return `${text(ref, 'namespace') || '*'}/${text(ref, 'name')}`
  return has(ref, 'selector') ? selector(field(ref, 'selector')) : '<unset>'
}

function apiServiceStatus(service: KubeObject): string {
  const available = condition(service, 'Available')
  if (available === undefined) return 'Unknown'
  const status = text(available, 'status')
  const reason = text(available, 'reason')
  return status === 'True' || reason === '' ? status : `${status} (${reason})`
}

const isDefaultClass = (object: KubeObject) =>
  object.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true' ||
  object.metadata.annotations?.['storageclass.beta.kubernetes.io/is-default-class'] === 'true'

const webhookColumns = columns(['Name', 'Webhooks:integer', 'Age'], (o, now) => [
  nameOf(o),
  list(o, 'webhooks').length,
  age(o, now),
])

const workloadWide = ['+Containers', '+Images', '+Selector']
const workloadCells = (o: KubeObject): Cell[] => [
  ...containers(field(o, 'spec', 'template')),
  selector(field(o, 'spec', 'selector')),
]

const builtin = new Map<string, Columns>([
  [
    '/Pod',
    {
      ...columns(
        ['Name', 'Ready', 'Status', 'Restarts', 'Age', '+IP', '+Node', '+Nominated Node', '+Readiness Gates'],
        podCells,
      ),
      conditions: podConditions,
    },
  ],
  [
    '/PodTemplate',
    columns(['Name', 'Containers', 'Images', 'Pod Labels'], o => [
      nameOf(o),
      ...containers(field(o, 'template')),
      labels(field(o, 'template', 'metadata', 'labels')),
    ]),
  ],
  [
    'policy/PodDisruptionBudget',
    columns(['Name', 'Min Available', 'Max Unavailable', 'Allowed Disruptions:integer', 'Age'], (o, now) => [
      nameOf(o),
      text(o, 'spec', 'minAvailable') || 'N/A',
      text(o, 'spec', 'maxUnavailable') || 'N/A',
      count(o, 'status', 'disruptionsAllowed'),
      age(o, now),
    ]),
  ],
  [
    '/ReplicationController',
    columns(['Name', 'Desired:integer', 'Current:integer', 'Ready:integer', 'Age', ...workloadWide], (o, now) => [
      nameOf(o),
      count(o, 'spec', 'replicas'),
      count(o, 'status', 'replicas'),
      count(o, 'status', 'readyReplicas'),
      age(o, now),
      ...containers(field(o, 'spec', 'template')),
      labels(field(o, 'spec', 'selector')),
    ]),
  ],
  [
    'apps/ReplicaSet',
    columns(['Name', 'Desired:integer', 'Current:integer', 'Ready:integer', 'Age', ...workloadWide], (o, now) => [
      nameOf(o),
      count(o, 'spec', 'replicas'),
      count(o, 'status', 'replicas'),
      count(o, 'status', 'readyReplicas'),
      age(o, now),
      ...workloadCells(o),
    ]),
  ],
  [
    'apps/DaemonSet',
    columns(
      [
        'Name',
        'Desired:integer',
        'Current:integer',
        'Ready:integer',
        'Up-to-date:integer',
        'Available:integer',
        'Node Selector',
        'Age',
        ...workloadWide,
      ],
      (o, now) => [
        nameOf(o),
        count(o, 'status', 'desiredNumberScheduled'),
        count(o, 'status', 'currentNumberScheduled'),
        count(o, 'status', 'numberReady'),
        count(o, 'status', 'updatedNumberScheduled'),
        count(o, 'status', 'numberAvailable'),
        labels(field(o, 'spec', 'template', 'spec', 'nodeSelector')),
        age(o, now),
        ...workloadCells(o),
      ],
    ),
  ],
  [
    'apps/Deployment',
    columns(['Name', 'Ready', 'Up-to-date', 'Available', 'Age', ...workloadWide], (o, now) => [
      nameOf(o),
      `${count(o, 'status', 'readyReplicas')}/${count(o, 'spec', 'replicas')}`,
      count(o, 'status', 'updatedReplicas'),
      count(o, 'status', 'availableReplicas'),
      age(o, now),
      ...workloadCells(o),
    ]),
  ],
  [
    'apps/StatefulSet',
    columns(['Name', 'Ready', 'Age', '+Containers', '+Images'], (o, now) => [
      nameOf(o),
      `${count(o, 'status', 'readyReplicas')}/${count(o, 'spec', 'replicas')}`,
      age(o, now),
      ...containers(field(o, 'spec', 'template')),
    ]),
  ],
  [
    'apps/ControllerRevision',
    columns(['Name', 'Controller', 'Revision', 'Age'], (o, now) => [
      nameOf(o),
      controllerOf(o),
      count(o, 'revision'),
      age(o, now),
    ]),
  ],
  [
    'batch/Job',
    columns(['Name', 'Status', 'Completions', 'Duration', 'Age', ...workloadWide], (o, now) => [
      nameOf(o),
      jobStatus(o),
      jobCompletions(o),
      jobDuration(o, now),
      age(o, now),
      ...workloadCells(o),
    ]),
  ],
  [
    'batch/CronJob',
    columns(
      ['Name', 'Schedule', 'Timezone', 'Suspend:boolean', 'Active:integer', 'Last Schedule', 'Age', ...workloadWide],
      (o, now) => [
        nameOf(o),
        text(o, 'spec', 'schedule'),
        has(o, 'spec', 'timeZone') ? text(o, 'spec', 'timeZone') : '<none>',
        // Text, though the column is a truth value: that is what every cluster answers.
        has(o, 'spec', 'suspend') ? (isTrue(o, 'spec', 'suspend') ? 'True' : 'False') : '<unset>',
        list(o, 'status', 'active').length,
        has(o, 'status', 'lastScheduleTime') ? since(field(o, 'status', 'lastScheduleTime'), now) : '<none>',
        age(o, now),
        ...containers(field(o, 'spec', 'jobTemplate', 'spec', 'template')),
        selector(field(o, 'spec', 'jobTemplate', 'spec', 'selector')),
      ],
    ),
  ],
  [
    '/Service',
    columns(['Name', 'Type', 'Cluster-IP', 'External-IP', 'Port(s)', 'Age', '+Selector'], (o, now) => [
      nameOf(o),
      text(o, 'spec', 'type'),
      texts(o, 'spec', 'clusterIPs')[0] ?? '<none>',
      externalIP(o),
      servicePorts(o),
      age(o, now),
      labels(field(o, 'spec', 'selector')),
    ]),
  ],
  ['/Endpoints', columns(['Name', 'Endpoints', 'Age'], (o, now) => [nameOf(o), endpointAddresses(o), age(o, now)])],
  [
    'discovery.k8s.io/EndpointSlice',
    columns(['Name', 'AddressType', 'Ports', 'Endpoints', 'Age'], (o, now) => [
      nameOf(o),
      text(o, 'addressType'),
      firstThree(
        list(o, 'ports').map(port => text(port, 'port') || text(port, 'name') || '*'),
        '<unset>',
      ),
      firstThree(
        list(o, 'endpoints').flatMap(endpoint => texts(endpoint, 'addresses')),
        '<unset>',
      ),
      age(o, now),
    ]),
  ],
  [
    'networking.k8s.io/Ingress',
    columns(['Name', 'Class', 'Hosts', 'Address', 'Ports', 'Age'], (o, now) => {
      const rules = list(o, 'spec', 'rules')
      const hosts = rules.map(rule => text(rule, 'host')).filter(host => host !== '')
      return [
        nameOf(o),
        has(o, 'spec', 'ingressClassName') ? text(o, 'spec', 'ingressClassName') : '<none>',
        firstThree(hosts, '*'),
        loadBalancer(field(o, 'status')),
        list(o, 'spec', 'tls').length > 0 ? '80, 443' : '80',
        age(o, now),
      ]
    }),
  ],
  [
    'networking.k8s.io/IngressClass',
    columns(['Name', 'Controller', 'Parameters', 'Age'], (o, now) => {
      const parameters = field(o, 'spec', 'parameters')
      const group = has(parameters, 'apiGroup') ? `.${text(parameters, 'apiGroup')}` : ''
      return [
        nameOf(o),
        text(o, 'spec', 'controller'),
        has(parameters) ? `${text(parameters, 'kind')}${group}/${text(parameters, 'name')}` : '<none>',
        age(o, now),
      ]
    }),
  ],
  [
    'networking.k8s.io/NetworkPolicy',
    columns(['Name', 'Pod-Selector', 'Age'], (o, now) => [
      nameOf(o),
      selector(field(o, 'spec', 'podSelector') ?? {}),
      age(o, now),
    ]),
  ],
  [
    'networking.k8s.io/ServiceCIDR',
    columns(['Name', 'CIDRs', 'Age'], (o, now) => [nameOf(o), texts(o, 'spec', 'cidrs').join(','), age(o, now)]),
  ],
  [
    'networking.k8s.io/IPAddress',
    columns(['Name', 'ParentRef'], o => {
      const parent = field(o, 'spec', 'parentRef')
      const group = text(parent, 'group')
      const resource = `${text(parent, 'resource')}${group === '' ? '' : `.${group}`}`.toLowerCase()
      const steps = [resource, text(parent, 'namespace'), text(parent, 'name')].filter(step => step !== '')
      return [nameOf(o), has(parent) ? steps.join('/') : '<none>']
    }),
  ],
  [
    '/Node',
    columns(
      [
        'Name',
        'Status',
        'Roles',
        'Age',
        'Version',
        '+Internal-IP',
        '+External-IP',
        '+OS-Image',
        '+Kernel-Version',
        '+Container-Runtime',
      ],
      (o, now) => {
        const info = field(o, 'status', 'nodeInfo')
        return [
          nameOf(o),
          nodeStatus(o),
          nodeRoles(o),
          age(o, now),
          text(info, 'kubeletVersion'),
          nodeAddress(o, 'InternalIP'),
          nodeAddress(o, 'ExternalIP'),
          text(info, 'osImage') || '<unknown>',
          text(info, 'kernelVersion') || '<unknown>',
          text(info, 'containerRuntimeVersion') || '<unknown>',
        ]
      },
    ),
  ],
  ['/Event', columns(eventColumns, eventCells)],
  ['events.k8s.io/Event', columns(eventColumns, eventCells)],
  ['/Namespace', columns(['Name', 'Status', 'Age'], (o, now) => [nameOf(o), text(o, 'status', 'phase'), age(o, now)])],
  [
    '/Secret',
    columns(['Name', 'Type', 'Data', 'Age'], (o, now) => [
      nameOf(o),
      text(o, 'type'),
      entries(o, 'data').length,
      age(o, now),
    ]),
  ],
  ['/ServiceAccount', columns(['Name', 'Age'], (o, now) => [nameOf(o), age(o, now)])],
  [
    '/ConfigMap',
    columns(['Name', 'Data', 'Age'], (o, now) => [
      nameOf(o),
      entries(o, 'data').length + entries(o, 'binaryData').length,
      age(o, now),
    ]),
  ],
  [
    '/PersistentVolume',
    columns(
      [
        'Name',
        'Capacity',
        'Access Modes',
        'Reclaim Policy',
        'Status',
        'Claim',
        'StorageClass',
        'VolumeAttributesClass',
        'Reason',
        'Age',
        '+VolumeMode',
      ],
      (o, now) => {
        const claim = field(o, 'spec', 'claimRef')
        return [
          nameOf(o),
          text(o, 'spec', 'capacity', 'storage') || '0',
          accessModes(field(o, 'spec', 'accessModes')),
          text(o, 'spec', 'persistentVolumeReclaimPolicy'),
          phaseOf(o),
          has(claim) ? `${text(claim, 'namespace')}/${text(claim, 'name')}` : '',
          storageClassName(o),
          has(o, 'spec', 'volumeAttributesClassName') ? text(o, 'spec', 'volumeAttributesClassName') : '<unset>',
          text(o, 'status', 'reason'),
          age(o, now),
          text(o, 'spec', 'volumeMode') || '<unset>',
        ]
      },
    ),
  ],
  [
    '/PersistentVolumeClaim',
    columns(
      [
        'Name',
        'Status',
        'Volume',
        'Capacity',
        'Access Modes',
        'StorageClass',
        'VolumeAttributesClass',
        'Age',
        '+VolumeMode',
      ],
      (o, now) => {
        const isBound = text(o, 'spec', 'volumeName') !== ''
        return [
          nameOf(o),
          phaseOf(o),
          text(o, 'spec', 'volumeName'),
          isBound ? text(o, 'status', 'capacity', 'storage') || '0' : '',
          isBound ? accessModes(field(o, 'status', 'accessModes')) : '',
          storageClassName(o),
          has(o, 'spec', 'volumeAttributesClassName') ? text(o, 'spec', 'volumeAttributesClassName') : '<unset>',
          age(o, now),
          text(o, 'spec', 'volumeMode') || '<unset>',
        ]
      },
    ),
  ],
  [
    '/ComponentStatus',
    columns(['Name', 'Status', 'Message', 'Error'], o => {
      const healthy = list(o, 'conditions').find(candidate => text(candidate, 'type') === 'Healthy')
      const status = healthy === undefined ? 'Unknown' : text(healthy, 'status') === 'True' ? 'Healthy' : 'Unhealthy'
      return [nameOf(o), status, text(healthy, 'message'), text(healthy, 'error')]
    }),
  ],
  [
    '/ResourceQuota',
    columns(['Name', 'Request', 'Limit', 'Age'], (o, now) => [nameOf(o), quota(o, false), quota(o, true), age(o, now)]),
  ],
  [
    'autoscaling/Scale',
    columns(['Name', 'Desired:integer', 'Available:integer', 'Age'], (o, now) => [
      nameOf(o),
      count(o, 'spec', 'replicas'),
      count(o, 'status', 'replicas'),
      age(o, now),
    ]),
  ],
  [
    'autoscaling/HorizontalPodAutoscaler',
    columns(['Name', 'Reference', 'Targets', 'MinPods', 'MaxPods', 'Replicas', 'Age'], (o, now) => [
      nameOf(o),
      `${text(o, 'spec', 'scaleTargetRef', 'kind')}/${text(o, 'spec', 'scaleTargetRef', 'name')}`,
      autoscalerTargets(o),
      has(o, 'spec', 'minReplicas') ? text(o, 'spec', 'minReplicas') : '<unset>',
      count(o, 'spec', 'maxReplicas'),
      count(o, 'status', 'currentReplicas'),
      age(o, now),
    ]),
  ],
  [
    'autoscaling/Scale',
    columns(['Name', 'Desired:integer', 'Available:integer', 'Age'], (o, now) => [
      nameOf(o),
      count(o, 'spec', 'replicas'),
      count(o, 'status', 'replicas'),
      age(o, now),
    ]),
  ],
  ['rbac.authorization.k8s.io/RoleBinding', columns(bindingColumns, bindingCells)],
  ['rbac.authorization.k8s.io/ClusterRoleBinding', columns(bindingColumns, bindingCells)],
  [
    'certificates.k8s.io/CertificateSigningRequest',
    columns(['Name', 'Age', 'SignerName', 'Requestor', 'RequestedDuration', 'Condition'], (o, now) => [
      nameOf(o),
      age(o, now),
      text(o, 'spec', 'signerName') || '<none>',
      text(o, 'spec', 'username'),
      has(o, 'spec', 'expirationSeconds')
        ? humanDuration(Number(count(o, 'spec', 'expirationSeconds')) * 1_000)
        : '<none>',
      certificateStatus(o),
    ]),
  ],
  [
    'coordination.k8s.io/Lease',
    columns(['Name', 'Holder', 'Age'], (o, now) => [nameOf(o), text(o, 'spec', 'holderIdentity'), age(o, now)]),
  ],
  [
    'storage.k8s.io/StorageClass',
    columns(['Name', 'Provisioner', 'ReclaimPolicy', 'VolumeBindingMode', 'AllowVolumeExpansion', 'Age'], (o, now) => [
      isDefaultClass(o) ? `${nameOf(o)} (default)` : nameOf(o),
      text(o, 'provisioner'),
      text(o, 'reclaimPolicy') || 'Delete',
      text(o, 'volumeBindingMode') || 'Immediate',
      isTrue(o, 'allowVolumeExpansion'),
      age(o, now),
    ]),
  ],
  [
    'storage.k8s.io/VolumeAttributesClass',
    columns(['Name', 'DriverName', 'Age'], (o, now) => [nameOf(o), text(o, 'driverName'), age(o, now)]),
  ],
  [
    'storage.k8s.io/VolumeAttachment',
    columns(['Name', 'Attacher', 'PV', 'Node', 'Attached:boolean', 'Age'], (o, now) => [
      nameOf(o),
      text(o, 'spec', 'attacher'),
      text(o, 'spec', 'source', 'persistentVolumeName'),
      text(o, 'spec', 'nodeName'),
      isTrue(o, 'status', 'attached'),
      age(o, now),
    ]),
  ],
  [
    'storage.k8s.io/CSINode',
    columns(['Name', 'Drivers:integer', 'Age'], (o, now) => [
      nameOf(o),
      list(o, 'spec', 'drivers').length,
      age(o, now),
    ]),
  ],
  [
    'storage.k8s.io/CSIDriver',
    columns(
      [
        'Name',
        'AttachRequired:boolean',
        'PodInfoOnMount:boolean',
        'StorageCapacity:boolean',
        'TokenRequests',
        'RequiresRepublish:boolean',
        'Modes',
        'Age',
      ],
      (o, now) => [
        nameOf(o),
        field(o, 'spec', 'attachRequired') !== false,
        isTrue(o, 'spec', 'podInfoOnMount'),
        isTrue(o, 'spec', 'storageCapacity'),
        has(o, 'spec', 'tokenRequests')
          ? list(o, 'spec', 'tokenRequests')
              .map(request => text(request, 'audience'))
              .join(',')
          : '<unset>',
        isTrue(o, 'spec', 'requiresRepublish'),
        texts(o, 'spec', 'volumeLifecycleModes').join(',') || '<none>',
        age(o, now),
      ],
    ),
  ],
  [
    'scheduling.k8s.io/PriorityClass',
    columns(['Name', 'Value:integer', 'Global-Default:boolean', 'Age', 'PreemptionPolicy'], (o, now) => [
      nameOf(o),
      count(o, 'value'),
      isTrue(o, 'globalDefault'),
      age(o, now),
      text(o, 'preemptionPolicy'),
    ]),
  ],
  [
    'node.k8s.io/RuntimeClass',
    columns(['Name', 'Handler', 'Age'], (o, now) => [nameOf(o), text(o, 'handler'), age(o, now)]),
  ],
  ['admissionregistration.k8s.io/MutatingWebhookConfiguration', webhookColumns],
  ['admissionregistration.k8s.io/ValidatingWebhookConfiguration', webhookColumns],
  [
    'admissionregistration.k8s.io/ValidatingAdmissionPolicy',
    columns(['Name', 'Validations:integer', 'ParamKind', 'Age'], (o, now) => [
      nameOf(o),
      list(o, 'spec', 'validations').length,
      parameterKind(o),
      age(o, now),
    ]),
  ],
  [
    'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding',
    columns(['Name', 'PolicyName', 'ParamRef', 'Age'], (o, now) => [
      nameOf(o),
      text(o, 'spec', 'policyName'),
      parameterRef(o),
      age(o, now),
    ]),
  ],
  [
    'apiregistration.k8s.io/APIService',
    columns(['Name', 'Service', 'Available', 'Age'], (o, now) => {
      const service = field(o, 'spec', 'service')
      return [
        nameOf(o),
        has(service) ? `${text(service, 'namespace')}/${text(service, 'name')}` : 'Local',
        apiServiceStatus(o),
        age(o, now),
      ]
    }),
  ],
  [
    'flowcontrol.apiserver.k8s.io/FlowSchema',
    columns(['Name', 'PriorityLevel', 'MatchingPrecedence', 'DistinguisherMethod', 'Age', 'MissingPL'], (o, now) => [
      nameOf(o),
      text(o, 'spec', 'priorityLevelConfiguration', 'name'),
      count(o, 'spec', 'matchingPrecedence'),
      text(o, 'spec', 'distinguisherMethod', 'type') || '<none>',
      age(o, now),
      text(condition(o, 'Dangling'), 'status') || '?',
    ]),
  ],
  [
    'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration',
    columns(['Name', 'Type', 'NominalConcurrencyShares', 'Queues', 'HandSize', 'QueueLengthLimit', 'Age'], (o, now) => {
      const limited = field(o, 'spec', 'limited')
      const queuing = field(limited, 'limitResponse', 'queuing')
      return [
        nameOf(o),
        text(o, 'spec', 'type'),
        has(limited) ? count(limited, 'nominalConcurrencyShares') : '<none>',
        has(queuing) ? count(queuing, 'queues') : '<none>',
        has(queuing) ? count(queuing, 'handSize') : '<none>',
        has(queuing) ? count(queuing, 'queueLengthLimit') : '<none>',
        age(o, now),
      ]
    }),
  ],
])
