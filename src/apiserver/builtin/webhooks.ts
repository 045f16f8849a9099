// Webhook configurations and admission policies.

import { at, child, duplicate, type Fault, invalid, notSupported, required } from '../faults.ts'
import type { Behaviour } from '../kinds/kind.ts'
import { checkLabel1035, checkSubdomain } from '../names.ts'
import { type Fields, fill, items, part, text, texts } from './fields.ts'
import { checkPort, numberOf } from './number-checks.ts'
import { checkSelector } from './selector-checks.ts'

const failurePolicies = ['Fail', 'Ignore']
const matchPolicies = ['Equivalent', 'Exact']
const sideEffects = ['None', 'NoneOnDryRun']
const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']
const reviewVersions = ['v1', 'v1beta1']
const scopes = ['*', 'Cluster', 'Namespaced']
const reinvocations = ['IfNeeded', 'Never']

export const validatingWebhooks = configurationOf(false)
export const mutatingWebhooks = configurationOf(true)

function configurationOf(isMutating: boolean): Behaviour {
  return {
    applyDefaults(object) {
      for (const hook of items(object.webhooks)) {
        fill(hook, 'failurePolicy', 'Fail')
        fill(hook, 'matchPolicy', 'Equivalent')
        fill(hook, 'namespaceSelector', {})
        fill(hook, 'objectSelector', {})
        fill(hook, 'timeoutSeconds', 10)
        if (isMutating) fill(hook, 'reinvocationPolicy', 'Never')
        for (const rule of items(hook.rules)) fill(rule, 'scope', '*')
        fill(part(hook, 'clientConfig', 'service'), 'port', 443)
      }
    },
    validate(object) {
      const names = new Set<string>()
      return items(object.webhooks).flatMap((hook, i) => {
        const path = at('webhooks', i)
        const faults = [...checkHook(hook, isMutating, path), ...checkReviewVersions(hook, path)]
        const name = text(hook.name)
        if (name !== '' && names.has(name)) faults.push(duplicate(child(path, 'name'), name))
        names.add(name)
        return faults
      })
    },
    hasGeneration: true,
  }
}

function checkHook(hook: Fields, isMutating: boolean, path: string): Fault[] {
  const faults = checkQualified(text(hook.name), child(path, 'name'))
  for (const [i, rule] of items(hook.rules).entries()) faults.push(...checkRule(rule, at(child(path, 'rules'), i)))
  faults.push(
    ...checkOneOf(hook.failurePolicy, failurePolicies, child(path, 'failurePolicy')),
    ...checkOneOf(hook.matchPolicy, matchPolicies, child(path, 'matchPolicy')),
  )
  if (text(hook.sideEffects) === '') {
    faults.push(required(child(path, 'sideEffects'), `must specify one of ${sideEffects.join(', ')}`))
  } else faults.push(...checkOneOf(hook.sideEffects, sideEffects, child(path, 'sideEffects')))
  const seconds = numberOf(hook.timeoutSeconds)
  if (seconds !== undefined && (seconds < 1 || seconds > 30)) {
    const why = 'the timeout value must be between 1 and 30 seconds'
    faults.push(invalid(child(path, 'timeoutSeconds'), seconds, why))
  }
  faults.push(
    ...checkSelector(part(hook, 'namespaceSelector'), child(path, 'namespaceSelector')),
    ...checkSelector(part(hook, 'objectSelector'), child(path, 'objectSelector')),
  )
  if (isMutating) {
    faults.push(...checkOneOf(hook.reinvocationPolicy, reinvocations, child(path, 'reinvocationPolicy')))
  }
  return [...faults, ...checkClient(part(hook, 'clientConfig') ?? {}, child(path, 'clientConfig'))]
}

const checkOneOf = (value: unknown, allowed: readonly string[], path: string): Fault[] =>
  allowed.includes(text(value)) ? [] : [notSupported(path, value, allowed)]

function checkQualified(name: string, path: string): Fault[] {
  if (name === '') return [required(path)]
  const complaints = checkSubdomain(name)
  if (complaints.length > 0) return [invalid(path, name, complaints.join(','))]
  if (name.split('.').length >= 3) return []
  return [invalid(path, name, 'should be a domain with at least three segments separated by dots')]
}

function checkRule(rule: Fields, path: string): Fault[] {
  const faults: Fault[] = []
  const asked = texts(rule.operations)
  if (asked.length === 0) faults.push(required(child(path, 'operations')))
  if (asked.length > 1 && asked.includes('*')) {
    const why = "if '*' is present, must not specify other operations"
    faults.push(invalid(child(path, 'operations'), asked, why))
  }
  for (const [i, operation] of asked.entries()) {
    faults.push(...checkOneOf(operation, operations, at(child(path, 'operations'), i)))
  }
  for (const [field, named] of [['apiGroups', 'API groups'] as const, ['apiVersions', 'API versions'] as const]) {
    const values = texts(rule[field])
    if (values.length === 0) faults.push(required(child(path, field)))
    if (values.length > 1 && values.includes('*')) {
      faults.push(invalid(child(path, field), values, `if '*' is present, must not specify other ${named}`))
    }
  }
  const resources = texts(rule.resources)
  if (resources.length === 0) faults.push(required(child(path, 'resources')))
  if (resources.length > 1 && resources.includes('*/*')) {
    const why = "if '*/*' is present, must not specify other resources"
    faults.push(invalid(child(path, 'resources'), resources, why))
  }
  return [...faults, ...checkOneOf(rule.scope, scopes, child(path, 'scope'))]
}

function checkClient(client: Fields, path: string): Fault[] {
  const url = text(client.url)
  const service = part(client, 'service')
  if ((url === '') === (service === undefined)) return [required(path, 'exactly one of url or service is required')]
  if (service === undefined) return checkURL(url, child(path, 'url'))
  const faults: Fault[] = []
  const servicePath = child(path, 'service')
  if (text(service.namespace) === '') faults.push(required(child(servicePath, 'namespace')))
  if (text(service.name) === '') faults.push(required(child(servicePath, 'name')))
  if (checkPort(service.port, '').length > 0) {
    const why = 'port is not valid: must be between 1 and 65535, inclusive'
    faults.push(invalid(child(servicePath, 'port'), service.port, why))
  }
  const urlPath = text(service.path)
  if (urlPath !== '' && !urlPath.startsWith('/')) {
    faults.push(invalid(child(servicePath, 'path'), urlPath, "must start with a '/'"))
  }
  return faults
}

function checkURL(text: string, path: string): Fault[] {
  const form = '; desired format: https://host[/path]'
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return [required(path, `url must be a valid URL: parse ${JSON.stringify(text)}${form}`)]
  const faults: Fault[] = []
  if (url.protocol !== 'https:') {
    faults.push(invalid(path, url.protocol.slice(0, -1), `'https' is the only allowed URL scheme${form}`))
  }
  if (url.host === '') faults.push(invalid(path, '', `host must be specified${form}`))
  if (url.username !== '' || url.password !== '') {
    faults.push(invalid(path, url.username, 'user information is not permitted in the URL'))
  }
  if (url.hash !== '') faults.push(invalid(path, url.hash.slice(1), 'fragments are not permitted in the URL'))
  if (url.search !== '') {
    faults.push(invalid(path, url.search.slice(1), 'query parameters are not permitted in the URL'))
  }
  return faults
}

function checkReviewVersions(hook: Fields, hookPath: string): Fault[] {
  const path = child(hookPath, 'admissionReviewVersions')
  const versions = texts(hook.admissionReviewVersions)
  if (versions.length === 0) return [required(path, `must specify one of ${reviewVersions.join(', ')}`)]
  const faults: Fault[] = []
  const seen = new Set<string>()
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) faults.push(invalid(at(path, i), version, 'duplicate version'))
    else faults.push(...checkLabel1035(version).map(why => invalid(at(path, i), version, why)))
    seen.add(version)
  }
  if (!versions.some(version => reviewVersions.includes(version))) {
    faults.push(invalid(path, versions, `must include at least one of ${reviewVersions.join(', ')}`))
  }
  return faults
}

export const admissionPolicies: Behaviour = {
  applyDefaults(object) {
    const spec = part(object, 'spec')
    fill(spec, 'failurePolicy', 'Fail')
    defaultMatch(part(spec, 'matchConstraints'))
  },
  prepareForCreate(object) {
    object.status = {}
  },
  hasGeneration: true,
}

export const admissionPolicyBindings: Behaviour = {
  applyDefaults: object => defaultMatch(part(object, 'spec', 'matchResources')),
  hasGeneration: true,
}

function defaultMatch(match: Fields | undefined): void {
  fill(match, 'matchPolicy', 'Equivalent')
  fill(match, 'namespaceSelector', {})
  fill(match, 'objectSelector', {})
  for (const rule of [...items(match?.resourceRules), ...items(match?.excludeResourceRules)]) fill(rule, 'scope', '*')
}
