// From a built-in kind to its `Behaviour`. Every built-in object is brought to the form that Kubernetes prints before
// the defaults of its kind run, and again after them.

import type { Behaviour } from '../kinds/kind.ts'
import type { KubeObject } from '../object.ts'
import { messageType } from '../wire/message-types.ts'
import { settlePresence } from '../wire/presence.ts'
import { limitRanges, namespaces, nodes, resourceQuotas } from './cluster.ts'
import { configMaps, secrets } from './config.ts'
import { coreEvents, newerEvents } from './event.ts'
import { cronJobs, jobs } from './jobs.ts'
import { ingressClasses, ingresses, networkPolicies } from './networking.ts'
import { pods, podTemplates } from './pods.ts'
import {
  apiServices,
  autoscalers,
  certificateRequests,
  disruptionBudgets,
  leases,
  oldAutoscalers,
  priorityClasses,
  runtimeClasses,
} from './policies.ts'
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from './rbac.ts'
import { endpointSlices, endpoints, services } from './services.ts'
import { builtinDefinitions } from './types.ts'
import { persistentVolumeClaims, persistentVolumes, storageClasses, storageDrivers } from './volumes.ts'
import { admissionPolicies, admissionPolicyBindings, mutatingWebhooks, validatingWebhooks } from './webhooks.ts'
import {
  controllerRevisions,
  daemonSets,
  deployments,
  replicaSets,
  replicationControllers,
  statefulSets,
} from './workloads.ts'

const behaviours: ReadonlyMap<string, Behaviour> = new Map(
  Object.entries({
    'v1/ConfigMap': configMaps,
    'v1/Endpoints': endpoints,
    'v1/Event': coreEvents,
    'v1/LimitRange': limitRanges,
    'v1/Namespace': namespaces,
    'v1/Node': nodes,
    'v1/PersistentVolume': persistentVolumes,
    'v1/PersistentVolumeClaim': persistentVolumeClaims,
    'v1/Pod': pods,
    'v1/PodTemplate': podTemplates,
    'v1/ReplicationController': replicationControllers,
    'v1/ResourceQuota': resourceQuotas,
    'v1/Secret': secrets,
    'v1/Service': services,
    'admissionregistration.k8s.io/v1/MutatingWebhookConfiguration': mutatingWebhooks,
    'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy': admissionPolicies,
    'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding': admissionPolicyBindings,
    'admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration': validatingWebhooks,
    'apiregistration.k8s.io/v1/APIService': apiServices,
    'apps/v1/ControllerRevision': controllerRevisions,
    'apps/v1/DaemonSet': daemonSets,
    'apps/v1/Deployment': deployments,
    'apps/v1/ReplicaSet': replicaSets,
    'apps/v1/StatefulSet': statefulSets,
    'autoscaling/v1/HorizontalPodAutoscaler': oldAutoscalers,
    'autoscaling/v2/HorizontalPodAutoscaler': autoscalers,
    'batch/v1/CronJob': cronJobs,
    'batch/v1/Job': jobs,
    'certificates.k8s.io/v1/CertificateSigningRequest': certificateRequests,
    'coordination.k8s.io/v1/Lease': leases,
    'discovery.k8s.io/v1/EndpointSlice': endpointSlices,
    'events.k8s.io/v1/Event': newerEvents,
    'networking.k8s.io/v1/Ingress': ingresses,
    'networking.k8s.io/v1/IngressClass': ingressClasses,
    'networking.k8s.io/v1/NetworkPolicy': networkPolicies,
    'node.k8s.io/v1/RuntimeClass': runtimeClasses,
    'policy/v1/PodDisruptionBudget': disruptionBudgets,
    'rbac.authorization.k8s.io/v1/ClusterRole': clusterRoles,
    'rbac.authorization.k8s.io/v1/ClusterRoleBinding': clusterRoleBindings,
    'rbac.authorization.k8s.io/v1/Role': roles,
    'rbac.authorization.k8s.io/v1/RoleBinding': roleBindings,
    'scheduling.k8s.io/v1/PriorityClass': priorityClasses,
    'storage.k8s.io/v1/CSIDriver': storageDrivers,
    'storage.k8s.io/v1/StorageClass': storageClasses,
  }),
)

export function builtinBehaviour(apiVersion: string, kind: string, schemaName: string): Behaviour {
  const own = behaviours.get(`${apiVersion}/${kind}`) ?? {}
  const settle = settlerOf(schemaName)
  return {
    ...own,
    applyDefaults(object) {
      settle(object)
      own.applyDefaults?.(object)
      settle(object)
    },
    prepareForCreate(object, context) {
      own.prepareForCreate?.(object, context)
      settle(object)
    },
    prepareForUpdate(object, old, context) {
      own.prepareForUpdate?.(object, old, context)
      settle(object)
    },
  }
}

function settlerOf(schemaName: string): (object: KubeObject) => void {
  const type = messageType(schemaName, builtinDefinitions)
  if (type === undefined) throw new Error(`no built-in type is called ${schemaName}`)
  return object => settlePresence(object, type)
}
