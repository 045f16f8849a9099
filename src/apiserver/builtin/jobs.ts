// Jobs and CronJobs.

import { child, type Fault, invalid, notSupported, required } from '../faults.ts'
import type { Behaviour } from '../kinds/kind.ts'
import { equal, type KubeObject } from '../object.ts'
import { ensure, type Fields, fill, isAbsent, part, text } from './fields.ts'
import { checkNotNegative, numberOf } from './number-checks.ts'
import { checkPodTemplate } from './pod-checks.ts'
import { defaultPodTemplate } from './pod-defaults.ts'
import { templateWarnings } from './pod-warnings.ts'
import { checkSelector, labelsOfTemplate, selects } from './selector-checks.ts'

const int32Max = 2_147_483_647
const nameLabels = ['job-name', 'batch.kubernetes.io/job-name']
const uidLabels = ['controller-uid', 'batch.kubernetes.io/controller-uid']
const selectorLabel = 'batch.kubernetes.io/controller-uid'

const specOf = (object: KubeObject): Fields => part(object, 'spec') ?? {}

export const jobs: Behaviour = {
  warnings: templateWarnings,
  applyDefaults(object) {
    defaultJobSpec(ensure(object, 'spec'))
    labelLikeItsPods(object)
  },
  prepareForCreate(object) {
    object.status = {}
    const spec = part(object, 'spec')
    if (spec !== undefined && spec.manualSelector !== true) selectOwnPods(object, spec)
    labelLikeItsPods(object)
  },
  validate: object => [...checkJobSpec(specOf(object), 'spec'), ...checkJobSelector(specOf(object))],
  validateUpdate(object, old) {
    const spec = specOf(object)
    const before = specOf(old)
    const faults: Fault[] = []
    faults.push(...checkCompletions(spec, before))
    for (const field of [
      'selector',
      'template',
      'completionMode',
      'podFailurePolicy',
      'backoffLimitPerIndex',
      'managedBy',
      'successPolicy',
    ]) {
      if (!equal(spec[field], before[field])) faults.push(fixed(spec, field))
    }
    return faults
  },
  fields: { 'status.successful': object => String(numberOf(part(object, 'status')?.succeeded) ?? 0) },
  hasGeneration: true,
}

/** An indexed job may grow or shrink, as long as it runs as many pods as it wants to complete. */
function checkCompletions(spec: Fields, before: Fields): Fault[] {
  if (equal(spec.completions, before.completions)) return []
  if (spec.completionMode !== 'Indexed') return [fixed(spec, 'completions')]
  const isInTandem = spec.completions === spec.parallelism && before.completions === before.parallelism
  const why = 'can only be modified in tandem with spec.parallelism'
  return isInTandem ? [] : [invalid('spec.completions', spec.completions ?? null, why)]
}

const fixed = (spec: Fields, field: string): Fault =>
  invalid(`spec.${field}`, spec[field] ?? null, 'field is immutable')

function defaultJobSpec(spec: Fields | undefined): void {
  if (spec === undefined) return
  if (isAbsent(spec.completions) && isAbsent(spec.parallelism)) spec.completions = 1
  fill(spec, 'parallelism', 1)
  fill(spec, 'backoffLimit', isAbsent(spec.backoffLimitPerIndex) ? 6 : int32Max)
  fill(spec, 'completionMode', 'NonIndexed')
  fill(spec, 'suspend', false)
  fill(spec, 'podReplacementPolicy', part(spec, 'podFailurePolicy') === undefined ? 'TerminatingOrFailed' : 'Failed')
  fill(spec, 'manualSelector', false)
  defaultPodTemplate(part(spec, 'template'))
}

/** A job without labels gets those of its pods, the generated ones included. */
function labelLikeItsPods(object: KubeObject): void {
  const labels = labelsOfTemplate(part(object, 'spec', 'template'))
  const own = object.metadata.labels ?? {}
  const isCopy = Object.entries(own).every(([key, value]) => labels[key] === value)
  if (Object.keys(labels).length > 0 && isCopy) object.metadata.labels = { ...labels }
}

/** The uid makes the selector match this job's pods only, even after an earlier job of the same name. */
function selectOwnPods(object: KubeObject, spec: Fields): void {
  const template = ensure(spec, 'template')
  const labels = ensure(ensure(template, 'metadata'), 'labels')
  for (const label of nameLabels) fill(labels, label, object.metadata.name ?? '')
  for (const label of uidLabels) fill(labels, label, object.metadata.uid ?? '')
  fill(ensure(ensure(spec, 'selector'), 'matchLabels'), selectorLabel, object.metadata.uid ?? '')
}

function checkJobSelector(spec: Fields): Fault[] {
  const selector = part(spec, 'selector')
  if (selector === undefined) return [required('spec.selector')]
  const faults = checkSelector(selector, 'spec.selector')
  const labels = labelsOfTemplate(part(spec, 'template'))
  if (selects(selector, labels) === false) {
    const why = '`selector` does not match template `labels`'
    faults.push(invalid('spec.template.metadata.labels', labels, why))
  }
  return faults
}

function checkJobSpec(spec: Fields, path: string): Fault[] {
  const counts = ['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished']
  const faults = [...counts, 'backoffLimitPerIndex', 'maxFailedIndexes'].flatMap(field =>
    checkNotNegative(spec[field], child(path, field)),
  )
  const mode = text(spec.completionMode)
  if (!['NonIndexed', 'Indexed'].includes(mode)) {
    faults.push(notSupported(child(path, 'completionMode'), mode, ['NonIndexed', 'Indexed']))
  }
  if (mode === 'Indexed' && isAbsent(spec.completions)) {
    faults.push(required(child(path, 'completions'), 'when completion mode is Indexed'))
  }
  faults.push(...checkPodTemplate(part(spec, 'template'), child(path, 'template')))
  const restart = text(part(spec, 'template', 'spec')?.restartPolicy)
  const restartPath = child(path, 'template.spec.restartPolicy')
  if (restart === 'Always' || restart === '') faults.push(required(restartPath, 'valid values: "OnFailure", "Never"'))
  else if (!['OnFailure', 'Never'].includes(restart)) {
    faults.push(notSupported(restartPath, restart, ['OnFailure', 'Never']))
  }
  return faults
}

const concurrencyPolicies = ['Allow', 'Forbid', 'Replace']
const scheduleFields = 5

export const cronJobs: Behaviour = {
  applyDefaults(object) {
    const spec = ensure(object, 'spec')
    fill(spec, 'concurrencyPolicy', 'Allow')
    fill(spec, 'suspend', false)
    fill(spec, 'successfulJobsHistoryLimit', 3)
    fill(spec, 'failedJobsHistoryLimit', 1)
    const jobSpec = part(spec, 'jobTemplate', 'spec')
    defaultPodTemplate(part(jobSpec, 'template'))
  },
  prepareForCreate(object) {
    object.status = {}
  },
  validate(object) {
    const spec = specOf(object)
    const faults: Fault[] = []
    const schedule = text(spec.schedule)
    if (schedule === '') faults.push(required('spec.schedule'))
    else if (!schedule.startsWith('@') && schedule.split(/\s+/).filter(Boolean).length !== scheduleFields) {
      const found = schedule.split(/\s+/).filter(Boolean)
      const shown = `[${found.join(' ')}]`
      faults.push(invalid('spec.schedule', schedule, `expected exactly 5 fields, found ${found.length}: ${shown}`))
    }
    faults.push(...checkNotNegative(spec.startingDeadlineSeconds, 'spec.startingDeadlineSeconds'))
    if (!concurrencyPolicies.includes(text(spec.concurrencyPolicy))) {
      faults.push(notSupported('spec.concurrencyPolicy', spec.concurrencyPolicy, concurrencyPolicies))
    }
    const template = part(spec, 'jobTemplate', 'spec') ?? {}
    faults.push(...checkJobSpec({ completionMode: 'NonIndexed', ...template }, 'spec.jobTemplate.spec'))
    for (const field of ['successfulJobsHistoryLimit', 'failedJobsHistoryLimit']) {
      faults.push(...checkNotNegative(spec[field], child('spec', field)))
    }
    return faults
  },
  validateNew(object) {
    const name = object.metadata.name ?? ''
    return name.length > 52 ? [invalid('metadata.name', name, 'must be no more than 52 characters')] : []
  },
  hasGeneration: true,
}
