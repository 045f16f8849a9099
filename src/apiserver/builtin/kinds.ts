// Every built-in kind this server serves, as discovery lists it: names, verbs and subresources are those of
// kube-apiserver 1.35. What a kind does beyond being stored is in the file of its family.

import type { ServedKind, Subresource, Verb } from '../kinds/kind.ts'
import { toAPIVersion } from '../object.ts'
import { builtinBehaviour } from './behaviour.ts'
import { builtinDefinitions, builtinSchema } from './types.ts'

const stored: readonly Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const oneByOne: readonly Verb[] = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']
const asked: readonly Verb[] = ['create']
const edited: readonly Verb[] = ['get', 'patch', 'update']
const proxied: readonly Verb[] = ['create', 'delete', 'get', 'patch', 'update']
const streamed: readonly Verb[] = ['create', 'get']

const status: Subresource = { name: 'status', verbs: edited }
const scale: Subresource = { name: 'scale', verbs: edited, kind: 'Scale', group: 'autoscaling', version: 'v1' }
const proxyOf = (kind: string): Subresource => ({ name: 'proxy', verbs: proxied, kind })

interface Declaration {
  readonly plural?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly clusterWide?: true
  readonly verbs?: readonly Verb[]
  readonly subresources?: readonly Subresource[]
  readonly deprecation?: string
}

type Family = Readonly<Record<string, Declaration>>

const all = ['all']
const extensions = ['api-extensions']

const families: readonly { group: string; version: string; package: string; kinds: Family }[] = [
  {
    group: '',
    version: 'v1',
    package: 'io.k8s.api.core.v1',
    kinds: {
      Binding: { verbs: asked },
      ConfigMap: { shortNames: ['cm'] },
      Endpoints: {
        plural: 'endpoints',
        shortNames: ['ep'],
        deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
      },
      Event: { shortNames: ['ev'] },
      LimitRange: { shortNames: ['limits'] },
      Namespace: {
        shortNames: ['ns'],
        clusterWide: true,
        verbs: oneByOne,
        subresources: [{ name: 'finalize', verbs: ['update'] }, status],
      },
      Node: { shortNames: ['no'], clusterWide: true, subresources: [proxyOf('NodeProxyOptions'), status] },
      PersistentVolumeClaim: { shortNames: ['pvc'], subresources: [status] },
      PersistentVolume: { shortNames: ['pv'], clusterWide: true, subresources: [status] },
      Pod: {
        shortNames: ['po'],
        categories: all,
        subresources: [
          { name: 'attach', verbs: streamed, kind: 'PodAttachOptions' },
          { name: 'binding', verbs: asked, kind: 'Binding' },
          { name: 'ephemeralcontainers', verbs: edited },
          { name: 'eviction', verbs: asked, kind: 'Eviction', group: 'policy', version: 'v1' },
          { name: 'exec', verbs: streamed, kind: 'PodExecOptions' },
          { name: 'log', verbs: ['get'] },
          { name: 'portforward', verbs: streamed, kind: 'PodPortForwardOptions' },
          proxyOf('PodProxyOptions'),
          { name: 'resize', verbs: edited },
          status,
        ],
      },
      PodTemplate: {},
      ReplicationController: { shortNames: ['rc'], categories: all, subresources: [scale, status] },
      ResourceQuota: { shortNames: ['quota'], subresources: [status] },
      Secret: {},
      ServiceAccount: {
        shortNames: ['sa'],
        subresources: [
          { name: 'token', verbs: asked, kind: 'TokenRequest', group: 'authentication.k8s.io', version: 'v1' },
        ],
      },
      Service: { shortNames: ['svc'], categories: all, subresources: [proxyOf('ServiceProxyOptions'), status] },
    },
  },
  {
    group: 'apiregistration.k8s.io',
    version: 'v1',
    package: 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1',
    kinds: { APIService: { categories: extensions, clusterWide: true, subresources: [status] } },
  },
  {
    group: 'apps',
    version: 'v1',
    package: 'io.k8s.api.apps.v1',
    kinds: {
      ControllerRevision: {},
      DaemonSet: { shortNames: ['ds'], categories: all, subresources: [status] },
      Deployment: { shortNames: ['deploy'], categories: all, subresources: [scale, status] },
      ReplicaSet: { shortNames: ['rs'], categories: all, subresources: [scale, status] },
      StatefulSet: { shortNames: ['sts'], categories: all, subresources: [scale, status] },
    },
  },
  {
    group: 'events.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.events.v1',
    kinds: { Event: { shortNames: ['ev'] } },
  },
  {
    group: 'authentication.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.authentication.v1',
    kinds: {
      SelfSubjectReview: { clusterWide: true, verbs: asked },
      TokenReview: { clusterWide: true, verbs: asked },
    },
  },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.authorization.v1',
    kinds: {
      LocalSubjectAccessReview: { verbs: asked },
      SelfSubjectAccessReview: { clusterWide: true, verbs: asked },
      SelfSubjectRulesReview: { clusterWide: true, verbs: asked },
      SubjectAccessReview: { clusterWide: true, verbs: asked },
    },
  },
  {
    group: 'autoscaling',
    version: 'v2',
    package: 'io.k8s.api.autoscaling.v2',
    kinds: { HorizontalPodAutoscaler: { shortNames: ['hpa'], categories: all, subresources: [status] } },
  },
  {
    group: 'autoscaling',
    version: 'v1',
    package: 'io.k8s.api.autoscaling.v1',
    kinds: { HorizontalPodAutoscaler: { shortNames: ['hpa'], categories: all, subresources: [status] } },
  },
  {
    group: 'batch',
    version: 'v1',
    package: 'io.k8s.api.batch.v1',
    kinds: {
      CronJob: { shortNames: ['cj'], categories: all, subresources: [status] },
      Job: { categories: all, subresources: [status] },
    },
  },
  {
    group: 'certificates.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.certificates.v1',
    kinds: {
      CertificateSigningRequest: {
        shortNames: ['csr'],
        clusterWide: true,
        subresources: [{ name: 'approval', verbs: edited }, status],
      },
    },
  },
  {
    group: 'networking.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.networking.v1',
    kinds: {
      IngressClass: { plural: 'ingressclasses', clusterWide: true },
      Ingress: { plural: 'ingresses', shortNames: ['ing'], subresources: [status] },
      NetworkPolicy: { plural: 'networkpolicies', shortNames: ['netpol'] },
    },
  },
  {
    group: 'policy',
    version: 'v1',
    package: 'io.k8s.api.policy.v1',
    kinds: { PodDisruptionBudget: { shortNames: ['pdb'], subresources: [status] } },
  },
  {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.rbac.v1',
    kinds: {
      ClusterRoleBinding: { clusterWide: true },
      ClusterRole: { clusterWide: true },
      RoleBinding: {},
      Role: {},
    },
  },
  {
    group: 'storage.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.storage.v1',
    kinds: {
      CSIDriver: { clusterWide: true },
      CSINode: { clusterWide: true },
      CSIStorageCapacity: { plural: 'csistoragecapacities' },
      StorageClass: { plural: 'storageclasses', shortNames: ['sc'], clusterWide: true },
      VolumeAttachment: { clusterWide: true, subresources: [status] },
      VolumeAttributesClass: { plural: 'volumeattributesclasses', shortNames: ['vac'], clusterWide: true },
    },
  },
  {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.admissionregistration.v1',
    kinds: {
      MutatingWebhookConfiguration: { categories: extensions, clusterWide: true },
      ValidatingAdmissionPolicy: {
        plural: 'validatingadmissionpolicies',
        categories: extensions,
        clusterWide: true,
        subresources: [status],
      },
      ValidatingAdmissionPolicyBinding: { categories: extensions, clusterWide: true },
      ValidatingWebhookConfiguration: { categories: extensions, clusterWide: true },
    },
  },
  {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    package: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1',
    kinds: {
      CustomResourceDefinition: {
        shortNames: ['crd', 'crds'],
        categories: extensions,
        clusterWide: true,
        subresources: [status],
      },
    },
  },
  {
    group: 'scheduling.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.scheduling.v1',
    kinds: { PriorityClass: { plural: 'priorityclasses', shortNames: ['pc'], clusterWide: true } },
  },
  {
    group: 'coordination.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.coordination.v1',
    kinds: { Lease: {} },
  },
  {
    group: 'node.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.node.v1',
    kinds: { RuntimeClass: { plural: 'runtimeclasses', clusterWide: true } },
  },
  {
    group: 'discovery.k8s.io',
    version: 'v1',
    package: 'io.k8s.api.discovery.v1',
    kinds: { EndpointSlice: {} },
  },
]

export const builtinKinds: readonly ServedKind[] = families.flatMap(family =>
  Object.entries(family.kinds).map(([kind, declaration]): ServedKind => {
    const singular = kind.toLowerCase()
    const schemaName = `${family.package}.${kind}`
    return {
      group: family.group,
      version: family.version,
      kind,
      listKind: `${kind}List`,
      plural: declaration.plural ?? `${singular}s`,
      singular,
      shortNames: declaration.shortNames ?? [],
      categories: declaration.categories ?? [],
      namespaced: declaration.clusterWide !== true,
      verbs: declaration.verbs ?? stored,
      subresources: declaration.subresources ?? [],
      schema: builtinSchema(schemaName),
      definitions: builtinDefinitions,
      schemaName,
      isCustom: false,
      ...(declaration.deprecation !== undefined && { deprecationWarning: declaration.deprecation }),
      behaviour: builtinBehaviour(toAPIVersion(family.group, family.version), kind, schemaName),
    }
  }),
)
