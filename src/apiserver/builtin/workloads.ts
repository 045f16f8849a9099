// Deployments and their relatives. Their controllers may run elsewhere or not at all; here they are objects with
// defaults, a selector that must match its own template, and a generation.

import { child, type Fault, forbidden, invalid, notSupported, required } from '../faults.ts'
import type { Behaviour } from '../kinds/kind.ts'
import { checkLabel } from '../names.ts'
import { clone, equal, isObject, type KubeObject } from '../object.ts'
import { fromLabelSet } from '../selectors/labels.ts'
import { ensure, type Fields, fill, isAbsent, items, part, text, textMap } from './fields.ts'
import { checkAtMostAll, checkCountOrPercent, checkNotNegative, numberOf } from './number-checks.ts'
import { checkPodTemplate } from './pod-checks.ts'
import { defaultPodTemplate } from './pod-defaults.ts'
import { templateWarnings } from './pod-warnings.ts'
import { checkSelector, isEmptySelector, labelsOfTemplate, selects } from './selector-checks.ts'
import { defaultClaim } from './volumes.ts'

const specOf = (object: KubeObject): Fields => part(object, 'spec') ?? {}

const emptyStatus = (status: Fields) => (object: KubeObject) => {
  object.status = clone(status)
}

const replicasField = {
  'status.replicas': (object: KubeObject) => String(numberOf(part(object, 'status')?.replicas) ?? 0),
}

export const deployments: Behaviour = {
  warnings: templateWarnings,
  applyDefaults(object) {
    const spec = ensure(object, 'spec')
    fill(spec, 'replicas', 1)
    const strategy = ensure(spec, 'strategy')
    fill(strategy, 'type', 'RollingUpdate')
    if (strategy?.type === 'RollingUpdate') {
      const rolling = ensure(strategy, 'rollingUpdate')
      fill(rolling, 'maxUnavailable', '25%')
      fill(rolling, 'maxSurge', '25%')
    }
    fill(spec, 'revisionHistoryLimit', 10)
    fill(spec, 'progressDeadlineSeconds', 600)
    defaultPodTemplate(part(spec, 'template'))
  },
  prepareForCreate: emptyStatus({}),
  validate(object) {
    const spec = specOf(object)
    const faults = [
      ...checkNotNegative(spec.replicas, 'spec.replicas'),
      ...checkTemplateSelector(spec, 'deployment', 'ReplicaSet'),
      ...checkDeploymentStrategy(part(spec, 'strategy') ?? {}),
      ...checkNotNegative(spec.minReadySeconds, 'spec.minReadySeconds'),
      ...checkNotNegative(spec.revisionHistoryLimit, 'spec.revisionHistoryLimit'),
      ...checkNotNegative(spec.progressDeadlineSeconds, 'spec.progressDeadlineSeconds'),
    ]
    const deadline = numberOf(spec.progressDeadlineSeconds)
    if (deadline !== undefined && deadline <= (numberOf(spec.minReadySeconds) ?? 0)) {
      faults.push(invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'))
    }
    return faults
  },
  prepareForUpdate(object, old) {
    // Annotations are copied to the replica sets, so a change of them is a change for the controller.
    if (equal(object.metadata.annotations ?? {}, old.metadata.annotations ?? {})) return
    object.metadata.generation = Number(old.metadata.generation ?? 0) + 1
  },
  validateUpdate: (object, old) => checkSameSelector(specOf(object), specOf(old)),
  hasGeneration: true,
}

function checkDeploymentStrategy(strategy: Fields): Fault[] {
  const rolling = part(strategy, 'rollingUpdate')
  if (strategy.type === 'Recreate') {
    const why = "may not be specified when strategy `type` is 'Recreate'"
    return rolling === undefined ? [] : [forbidden('spec.strategy.rollingUpdate', why)]
  }
  if (strategy.type !== 'RollingUpdate') {
    return [notSupported('spec.strategy', toGoStrategy(strategy), ['Recreate', 'RollingUpdate'])]
  }
  return checkRolling(rolling ?? {}, 'spec.strategy.rollingUpdate')
}

/** Kubernetes shows the whole strategy here, under the names its code has for it. */
function toGoStrategy(strategy: Fields): Fields {
  return { Type: strategy.type, RollingUpdate: strategy.rollingUpdate ?? null }
}

function checkRolling(rolling: Fields, path: string): Fault[] {
  const faults = [
    ...checkCountOrPercent(rolling.maxUnavailable, child(path, 'maxUnavailable')),
    ...checkCountOrPercent(rolling.maxSurge, child(path, 'maxSurge')),
  ]
  if (isNothing(rolling.maxUnavailable) && isNothing(rolling.maxSurge)) {
    const why = 'may not be 0 when `maxSurge` is 0'
    faults.push(invalid(child(path, 'maxUnavailable'), rolling.maxUnavailable, why))
  }
  return [...faults, ...checkAtMostAll(rolling.maxUnavailable, child(path, 'maxUnavailable'))]
}

const isNothing = (value: unknown): boolean => value === 0 || value === '0%'

export const replicaSets: Behaviour = {
  warnings: templateWarnings,
  applyDefaults(object) {
    const spec = ensure(object, 'spec')
    fill(spec, 'replicas', 1)
    defaultPodTemplate(part(spec, 'template'))
  },
  prepareForCreate: emptyStatus({ replicas: 0 }),
  validate: object => [
    ...checkNotNegative(specOf(object).replicas, 'spec.replicas'),
    ...checkNotNegative(specOf(object).minReadySeconds, 'spec.minReadySeconds'),
    ...checkTemplateSelector(specOf(object), 'deployment', 'ReplicaSet'),
  ],
  validateUpdate: (object, old) => checkSameSelector(specOf(object), specOf(old)),
  hasGeneration: true,
}

export const replicationControllers: Behaviour = {
  warnings: templateWarnings,
  applyDefaults(object) {
    const spec = ensure(object, 'spec')
    fill(spec, 'replicas', 1)
    const labels = labelsOfTemplate(part(spec, 'template'))
    if (Object.keys(labels).length > 0) {
      if (Object.keys(textMap(spec?.selector)).length === 0 && spec !== undefined) spec.selector = { ...labels }
      if (Object.keys(object.metadata.labels ?? {}).length === 0) object.metadata.labels = { ...labels }
    }
    defaultPodTemplate(part(spec, 'template'))
  },
  prepareForCreate: emptyStatus({ replicas: 0 }),
  validate(object) {
    const spec = specOf(object)
    const template = part(spec, 'template')
    const selector = textMap(spec.selector)
    const faults = checkNotNegative(spec.minReadySeconds, 'spec.minReadySeconds')
    if (Object.keys(selector).length === 0) faults.push(required('spec.selector'))
    faults.push(...checkNotNegative(spec.replicas, 'spec.replicas'))
    if (template === undefined) return [...faults, required('spec.template')]
    const labels = labelsOfTemplate(template)
    if (!fromLabelSet(selector).matches(labels)) faults.push(templateMismatch('spec.template', labels))
    return [...faults, ...checkTemplateOf(template, 'spec.template', 'ReplicationController')]
  },
  fields: replicasField,
  hasGeneration: true,
}

export const statefulSets: Behaviour = {
  warnings: templateWarnings,
  applyDefaults(object) {
    const spec = ensure(object, 'spec')
    fill(spec, 'podManagementPolicy', 'OrderedReady')
    const strategy = ensure(spec, 'updateStrategy')
    if (isAbsent(strategy?.type)) {
      fill(strategy, 'type', 'RollingUpdate')
      fill(strategy, 'rollingUpdate', {})
    }
    if (strategy?.type === 'RollingUpdate') fill(part(strategy, 'rollingUpdate'), 'partition', 0)
    const retention = ensure(spec, 'persistentVolumeClaimRetentionPolicy')
    fill(retention, 'whenDeleted', 'Retain')
    fill(retention, 'whenScaled', 'Retain')
    fill(spec, 'replicas', 1)
    fill(spec, 'revisionHistoryLimit', 10)
    for (const claim of items(spec?.volumeClaimTemplates)) {
      fill(claim, 'apiVersion', 'v1')
      fill(claim, 'kind', 'PersistentVolumeClaim')
      defaultClaim(claim)
    }
    defaultPodTemplate(part(spec, 'template'))
  },
  prepareForCreate: emptyStatus({ replicas: 0, availableReplicas: 0 }),
  validate(object) {
    const spec = specOf(object)
    const faults: Fault[] = []
    if (!['OrderedReady', 'Parallel'].includes(text(spec.podManagementPolicy))) {
      const why = "must be 'OrderedReady' or 'Parallel'"
      faults.push(invalid('spec.podManagementPolicy', spec.podManagementPolicy, why))
    }
    faults.push(
      ...checkNotNegative(spec.replicas, 'spec.replicas'),
      ...checkNotNegative(spec.minReadySeconds, 'spec.minReadySeconds'),
    )
    const service = text(spec.serviceName)
    if (service !== '') faults.push(...checkLabel(service).map(why => invalid('spec.serviceName', service, why)))
    const volumes = items(spec.volumeClaimTemplates).map(claim => ({
      name: text(part(claim, 'metadata')?.name),
      emptyDir: {},
    }))
    return [...faults, ...checkTemplateSelector(spec, 'statefulset', 'StatefulSet', volumes)]
  },
  validateUpdate(object, old) {
    const before = specOf(old)
    const changed = { ...specOf(object) }
    for (const field of changeableOfSet) changed[field] = before[field]
    if (equal(changed, before)) return []
    const names = "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit'"
    const last = "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds'"
    return [forbidden('spec', `updates to statefulset spec for fields other than ${names}, ${last} are forbidden`)]
  },
  nameRule: 'dns-label',
  hasGeneration: true,
}

const changeableOfSet = [
  'replicas',
  'template',
  'updateStrategy',
  'minReadySeconds',
  'ordinals',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
]

const templateGeneration = 'deprecated.daemonset.template.generation'

export const daemonSets: Behaviour = {
  warnings: templateWarnings,
  applyDefaults(object) {
    const spec = ensure(object, 'spec')
    const strategy = ensure(spec, 'updateStrategy')
    fill(strategy, 'type', 'RollingUpdate')
    if (strategy?.type === 'RollingUpdate') {
      const rolling = ensure(strategy, 'rollingUpdate')
      fill(rolling, 'maxUnavailable', 1)
      fill(rolling, 'maxSurge', 0)
    }
    fill(spec, 'revisionHistoryLimit', 10)
    defaultPodTemplate(part(spec, 'template'))
    // Set in the object that comes in, so that its manager owns this field like every other.
    setTemplateGeneration(object, templateGenerationOf(object))
  },
  prepareForCreate(object) {
    object.status = {
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    }
    setTemplateGeneration(object, Math.max(templateGenerationOf(object), 1))
  },
  prepareForUpdate(object, old) {
    const isSame = equal(specOf(object).template, specOf(old).template)
    setTemplateGeneration(object, templateGenerationOf(old) + (isSame ? 0 : 1))
  },
  validate(object) {
    const spec = specOf(object)
    const template = part(spec, 'template')
    const selector = part(spec, 'selector')
    const labels = labelsOfTemplate(template)
    const faults = checkSelector(selector, 'spec.selector')
    if (selects(selector, labels) === false) faults.push(templateMismatch('spec.template', labels))
    if (selector !== undefined && isEmptySelector(selector)) {
      faults.push(invalid('spec.selector', selector, 'empty selector is invalid for daemonset'))
    }
    return [
      ...faults,
      ...checkTemplateOf(template, 'spec.template', 'DaemonSet'),
      ...checkNotNegative(spec.minReadySeconds, 'spec.minReadySeconds'),
      ...checkNotNegative(spec.revisionHistoryLimit, 'spec.revisionHistoryLimit'),
    ]
  },
  validateUpdate: (object, old) => checkSameSelector(specOf(object), specOf(old)),
  hasGeneration: true,
}

function templateGenerationOf(object: KubeObject): number {
  const written = Number(object.metadata.annotations?.[templateGeneration] ?? 0)
  return Number.isSafeInteger(written) ? written : 0
}

function setTemplateGeneration(object: KubeObject, generation: number): void {
  object.metadata.annotations = { ...object.metadata.annotations, [templateGeneration]: String(generation) }
}

export const controllerRevisions: Behaviour = {
  validate(object) {
    const faults = checkNotNegative(object.revision, 'revision')
    if (object.data === undefined || object.data === null) faults.push(required('data', 'data is mandatory'))
    else if (!isObject(object.data)) faults.push(required('data', 'data must be a valid JSON object'))
    return faults
  },
  validateUpdate: (object, old) =>
    equal(object.data, old.data) ? [] : [invalid('data', object.data, 'field is immutable')],
}

/** The selector is well formed, says something, and matches the pods that the template makes. */
function checkTemplateSelector(spec: Fields, named: string, owner: string, volumes: Fields[] = []): Fault[] {
  const selector = part(spec, 'selector')
  const template = part(spec, 'template')
  const labels = labelsOfTemplate(template)
  const faults: Fault[] = []
  if (selector === undefined) faults.push(required('spec.selector'))
  faults.push(...checkSelector(selector, 'spec.selector'))
  const isEmpty = selector !== undefined && isEmptySelector(selector)
  if (isEmpty) faults.push(invalid('spec.selector', selector, `empty selector is invalid for ${named}`))
  const matches = selects(selector, labels)
  if (matches === undefined) return [...faults, invalid('spec.selector', selector, 'invalid label selector')]
  if (!matches && !isEmpty) faults.push(templateMismatch('spec.template', labels))
  const podSpec = part(template, 'spec') ?? {}
  const withVolumes = { ...podSpec, volumes: [...volumes, ...items(podSpec.volumes)] }
  const complete = volumes.length === 0 ? template : { ...template, spec: withVolumes }
  return [...faults, ...checkTemplateOf(complete, 'spec.template', owner)]
}

function templateMismatch(path: string, labels: Record<string, string>): Fault {
  const shown = Object.keys(labels).length === 0 ? null : labels
  return invalid(child(path, 'metadata.labels'), shown, '`selector` does not match template `labels`')
}

function checkTemplateOf(template: Fields | undefined, path: string, owner: string): Fault[] {
  const spec = part(template, 'spec') ?? {}
  const faults = checkPodTemplate(template, path)
  if (spec.restartPolicy !== 'Always') {
    faults.push(notSupported(child(path, 'spec.restartPolicy'), text(spec.restartPolicy), ['Always']))
  }
  if (numberOf(spec.activeDeadlineSeconds) !== undefined) {
    const why = `activeDeadlineSeconds in ${owner} is not Supported`
    faults.push(forbidden(child(path, 'spec.activeDeadlineSeconds'), why))
  }
  return faults
}

function checkSameSelector(spec: Fields, old: Fields): Fault[] {
  return equal(spec.selector, old.selector) ? [] : [invalid('spec.selector', spec.selector, 'field is immutable')]
}
