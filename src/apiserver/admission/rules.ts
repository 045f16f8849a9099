// Admission that is part of the server: a namespace that is absent or terminating takes no new objects, some namespaces
// cannot be deleted, no user grants permissions that they do not have, and pods, volumes and claims to volumes get what a
// cluster adds to them.

import { checkBindingEscalation, checkRoleEscalation } from '../authz/escalation.ts'
import type { AdmissionRequest, World } from '../call.ts'
import { getObject } from '../objects.ts'
import { forbidden, notFound, type StatusError } from '../status.ts'
import { admitPod } from './pods.ts'
import { protectStorage } from './volumes.ts'

type RuleWorld = Pick<World, 'store' | 'registry' | 'rbac' | 'random'>

const immortal = new Set(['default', 'kube-system', 'kube-public', 'kube-node-lease'])

export function applyRules(world: RuleWorld, request: AdmissionRequest): void {
  const refusal = checkNamespace(world, request) ?? checkEscalation(world, request) ?? admitPod(world, request)
  if (refusal !== undefined) throw refusal
  protectStorage(request)
}

function checkNamespace(
  world: RuleWorld,
  { operation, call, name, object }: AdmissionRequest,
): StatusError | undefined {
  const { resource, request } = call
  if (resource.group === '' && resource.plural === 'namespaces') {
    if (operation === 'DELETE' && immortal.has(name)) {
      return forbidden(resource, name, 'this namespace may not be deleted')
    }
    return undefined
  }
  const namespace = request.namespace
  if (operation !== 'CREATE' || namespace === '' || !resource.namespaced) return undefined
  // A client may ask about permissions in a namespace that does not exist.
  if (resource.plural === 'localsubjectaccessreviews') return undefined
  const namespaces = world.registry.find('', 'namespaces')
  const found = namespaces && getObject(world.store, namespaces, '', namespace)
  if (found === undefined) return notFound({ group: '', plural: 'namespaces' }, namespace)
  if (!found.metadata.deletionTimestamp) return undefined
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`
  const error = forbidden(resource, name || (object?.metadata.name ?? ''), why)
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  }
  error.status.details = { ...error.status.details, causes: [cause] }
  return error
}

function checkEscalation({ rbac }: RuleWorld, request: AdmissionRequest): StatusError | undefined {
  const { operation, call, object, oldObject } = request
  if (call.resource.group !== 'rbac.authorization.k8s.io' || object === undefined) return undefined
  if (operation !== 'CREATE' && operation !== 'UPDATE') return undefined
  const write = { user: call.user, namespace: call.request.namespace, object, old: oldObject }
  const isRole = call.resource.plural === 'roles' || call.resource.plural === 'clusterroles'
  return isRole ? checkRoleEscalation(rbac, write) : checkBindingEscalation(rbac, write)
}
