// The rules of the roles that every cluster has from its first start. Clients and charts rely on them, so they are kept
// here as a table: role, verbs, API groups, resources, resource names.

import type { PolicyRule } from './rule.ts'

const read = 'get list watch'
const write = 'create delete deletecollection patch update'
const readWrite = 'create delete deletecollection get list patch update watch'
const report = 'create patch update'

function may(verbs: string, groups: string, resources: string, names?: string): PolicyRule {
  return {
    apiGroups: groups.split(' ').map(group => (group === 'core' ? '' : group)),
    ...(names !== undefined && { resourceNames: names.split(' ') }),
    resources: resources.split(' '),
    verbs: verbs.split(' '),
  }
}

function paths(verbs: string, patterns: string): PolicyRule {
  return { nonResourceURLs: patterns.split(' '), verbs: verbs.split(' ') }
}

export const clusterRoleRules: Readonly<Record<string, readonly PolicyRule[]>> = {
  'cluster-admin': [may('*', '*', '*'), paths('*', '*')],
  'system:aggregate-to-admin': [
    may('create', 'authorization.k8s.io', 'localsubjectaccessreviews'),
    may(readWrite, 'rbac.authorization.k8s.io', 'rolebindings roles'),
  ],
  'system:aggregate-to-edit': [
    may(read, 'core', 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy'),
    may('impersonate', 'core', 'serviceaccounts'),
    may(write, 'core', 'pods pods/attach pods/exec pods/portforward pods/proxy'),
    may('create', 'core', 'pods/eviction'),
    may(
      write,
      'core',
      'configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets ' +
        'serviceaccounts services services/proxy',
    ),
    may('create', 'core', 'serviceaccounts/token'),
    may(write, 'core events.k8s.io', 'events'),
    may(
      write,
      'apps',
      'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale ' +
        'statefulsets statefulsets/scale',
    ),
    may(write, 'autoscaling', 'horizontalpodautoscalers'),
    may(write, 'batch', 'cronjobs jobs'),
    may(
      write,
      'extensions',
      'daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies ' +
        'replicasets replicasets/scale replicationcontrollers/scale',
    ),
    may(write, 'policy', 'poddisruptionbudgets'),
    may(write, 'networking.k8s.io', 'ingresses networkpolicies'),
    may(readWrite, 'coordination.k8s.io', 'leases'),
    may(write, 'resource.k8s.io', 'resourceclaims resourceclaimtemplates'),
  ],
  'system:aggregate-to-view': [
    may(
      read,
      'core',
      'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods ' +
        'replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status',
    ),
    may(
      read,
      'core',
      'bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status ' +
        'resourcequotas resourcequotas/status',
    ),
    may(read, 'core', 'namespaces'),
    may(read, 'core events.k8s.io', 'events'),
    may(read, 'discovery.k8s.io', 'endpointslices'),
    may(
      read,
      'apps',
      'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status ' +
        'replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale ' +
        'statefulsets/status',
    ),
    may(read, 'autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status'),
    may(read, 'batch', 'cronjobs cronjobs/status jobs jobs/status'),
    may(
      read,
      'extensions',
      'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ' +
        'ingresses/status networkpolicies replicasets replicasets/scale replicasets/status ' +
        'replicationcontrollers/scale',
    ),
    may(read, 'policy', 'poddisruptionbudgets poddisruptionbudgets/status'),
    may(read, 'networking.k8s.io', 'ingresses ingresses/status networkpolicies'),
    may(read, 'resource.k8s.io', 'resourceclaims resourceclaims/status resourceclaimtemplates'),
  ],
  'system:auth-delegator': [
    may('create', 'authentication.k8s.io', 'tokenreviews'),
    may('create', 'authorization.k8s.io', 'subjectaccessreviews'),
  ],
  'system:basic-user': [
    may('create', 'authorization.k8s.io', 'selfsubjectaccessreviews selfsubjectrulesreviews'),
    may('create', 'authentication.k8s.io', 'selfsubjectreviews'),
  ],
  'system:certificates.k8s.io:certificatesigningrequests:nodeclient': [
    may('create', 'certificates.k8s.io', 'certificatesigningrequests/nodeclient'),
  ],
  'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient': [
    may('create', 'certificates.k8s.io', 'certificatesigningrequests/selfnodeclient'),
  ],
  'system:certificates.k8s.io:kube-apiserver-client-approver': [
    may('approve', 'certificates.k8s.io', 'signers', 'kubernetes.io/kube-apiserver-client'),
  ],
  'system:certificates.k8s.io:kube-apiserver-client-kubelet-approver': [
    may('approve', 'certificates.k8s.io', 'signers', 'kubernetes.io/kube-apiserver-client-kubelet'),
  ],
  'system:certificates.k8s.io:kubelet-serving-approver': [
    may('approve', 'certificates.k8s.io', 'signers', 'kubernetes.io/kubelet-serving'),
  ],
  'system:certificates.k8s.io:legacy-unknown-approver': [
    may('approve', 'certificates.k8s.io', 'signers', 'kubernetes.io/legacy-unknown'),
  ],
  'system:discovery': [
    paths('get', '/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/'),
  ],
  'system:heapster': [may(read, 'core', 'events namespaces nodes pods'), may(read, 'extensions', 'deployments')],
  'system:kube-aggregator': [may(read, 'core', 'endpoints services')],
  'system:kube-controller-manager': [
    may(report, 'core events.k8s.io', 'events'),
    may('create', 'coordination.k8s.io', 'leases'),
    may('get update', 'coordination.k8s.io', 'leases', 'kube-controller-manager'),
    may('create', 'core', 'secrets serviceaccounts'),
    may('delete', 'core', 'secrets'),
    may('get', 'core', 'configmaps namespaces secrets serviceaccounts'),
    may('update', 'core', 'secrets serviceaccounts'),
    may('create', 'authentication.k8s.io', 'tokenreviews'),
    may('create', 'authorization.k8s.io', 'subjectaccessreviews'),
    may('list watch', '*', '*'),
    may('create', 'core', 'serviceaccounts/token'),
  ],
  'system:kube-dns': [may('list watch', 'core', 'endpoints services')],
  'system:kube-scheduler': [
    may(report, 'core events.k8s.io', 'events'),
    may('create', 'coordination.k8s.io', 'leases'),
    may('get list update watch', 'coordination.k8s.io', 'leases', 'kube-scheduler'),
    may(readWrite, 'coordination.k8s.io', 'leasecandidates'),
    may(read, 'core', 'nodes'),
    may('delete get list watch', 'core', 'pods'),
    may('create', 'core', 'bindings pods/binding'),
    may('patch update', 'core', 'pods/status'),
    may(read, 'core', 'replicationcontrollers services'),
    may(read, 'apps extensions', 'replicasets'),
    may(read, 'apps', 'statefulsets'),
    may(read, 'policy', 'poddisruptionbudgets'),
    may(read, 'core', 'persistentvolumeclaims persistentvolumes'),
    may('create', 'authentication.k8s.io', 'tokenreviews'),
    may('create', 'authorization.k8s.io', 'subjectaccessreviews'),
    may(read, 'storage.k8s.io', 'csinodes'),
    may(read, 'storage.k8s.io', 'volumeattachments'),
    may(read, 'core', 'namespaces'),
    may(read, 'storage.k8s.io', 'csidrivers'),
    may(read, 'storage.k8s.io', 'csistoragecapacities'),
    may(read, 'resource.k8s.io', 'deviceclasses'),
    may('get list patch update watch', 'resource.k8s.io', 'resourceclaims'),
    may('get list patch update watch', 'resource.k8s.io', 'resourceclaims/status'),
    may('update', 'core', 'pods/finalizers'),
    may(read, 'resource.k8s.io', 'resourceslices'),
  ],
  'system:kubelet-api-admin': [
    may(read, 'core', 'nodes'),
    may('proxy', 'core', 'nodes'),
    may('*', 'core', 'nodes/log nodes/metrics nodes/proxy nodes/stats'),
    may('*', 'core', 'nodes/configz nodes/healthz nodes/pods'),
  ],
  'system:monitoring': [
    paths('get', '/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*'),
    may('get', 'core', 'nodes/metrics'),
  ],
  'system:node': [
    may('create', 'authentication.k8s.io', 'tokenreviews'),
    may('create', 'authorization.k8s.io', 'localsubjectaccessreviews subjectaccessreviews'),
    may(read, 'core', 'services'),
    may('create get list watch', 'core', 'nodes'),
    may('patch update', 'core', 'nodes/status'),
    may('patch update', 'core', 'nodes'),
    may(report, 'core events.k8s.io', 'events'),
    may(read, 'core', 'pods'),
    may('create delete', 'core', 'pods'),
    may('patch update', 'core', 'pods/status'),
    may('create', 'core', 'pods/eviction'),
    may(read, 'core', 'configmaps secrets'),
    may('get', 'core', 'persistentvolumeclaims persistentvolumes'),
    may('get', 'core', 'endpoints'),
    may('create get list watch', 'certificates.k8s.io', 'certificatesigningrequests'),
    may('create delete get patch update', 'coordination.k8s.io', 'leases'),
    may('get', 'storage.k8s.io', 'volumeattachments'),
    may('create', 'core', 'serviceaccounts/token'),
    may('get patch update', 'core', 'persistentvolumeclaims/status'),
    may(read, 'storage.k8s.io', 'csidrivers'),
    may('create delete get patch update', 'storage.k8s.io', 'csinodes'),
    may(read, 'node.k8s.io', 'runtimeclasses'),
    may('get', 'resource.k8s.io', 'resourceclaims'),
    may('deletecollection', 'resource.k8s.io', 'resourceslices'),
    may('get', 'core', 'serviceaccounts'),
  ],
  'system:node-bootstrapper': [may('create get list watch', 'certificates.k8s.io', 'certificatesigningrequests')],
  'system:node-problem-detector': [
    may('get', 'core', 'nodes'),
    may('patch', 'core', 'nodes/status'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'system:node-proxier': [
    may('list watch', 'core', 'endpoints services'),
    may(read, 'core', 'nodes'),
    may(report, 'core events.k8s.io', 'events'),
    may('list watch', 'networking.k8s.io', 'servicecidrs'),
    may('list watch', 'discovery.k8s.io', 'endpointslices'),
  ],
  'system:persistent-volume-provisioner': [
    may('create delete get list watch', 'core', 'persistentvolumes'),
    may('get list update watch', 'core', 'persistentvolumeclaims'),
    may(read, 'storage.k8s.io', 'storageclasses'),
    may('watch', 'core', 'events'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'system:public-info-viewer': [paths('get', '/healthz /livez /readyz /version /version/')],
  'system:service-account-issuer-discovery': [
    paths(
      'get',
      '/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks ' + '/openid/v1/jwks/',
    ),
  ],
  'system:volume-scheduler': [
    may('get list patch update watch', 'core', 'persistentvolumes'),
    may(read, 'storage.k8s.io', 'storageclasses'),
    may('get list patch update watch', 'core', 'persistentvolumeclaims'),
  ],
}

/** What the parts of kube-controller-manager may do, each under its own service account in kube-system. */
export const controllerRules: Readonly<Record<string, readonly PolicyRule[]>> = {
  'attachdetach-controller': [
    may('list watch', 'core', 'persistentvolumeclaims persistentvolumes'),
    may(read, 'core', 'nodes'),
    may('patch update', 'core', 'nodes/status'),
    may('list watch', 'core', 'pods'),
    may(report, 'core events.k8s.io', 'events'),
    may('create delete get list watch', 'storage.k8s.io', 'volumeattachments'),
    may(read, 'storage.k8s.io', 'csidrivers'),
    may(read, 'storage.k8s.io', 'csinodes'),
  ],
  'certificate-controller': [
    may('delete get list watch', 'certificates.k8s.io', 'certificatesigningrequests'),
    may('update', 'certificates.k8s.io', 'certificatesigningrequests/approval certificatesigningrequests/status'),
    may('approve', 'certificates.k8s.io', 'signers', 'kubernetes.io/kube-apiserver-client-kubelet'),
    may(
      'sign',
      'certificates.k8s.io',
      'signers',
      'kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving kubernetes.io/legacy-unknown',
    ),
    may('create', 'authorization.k8s.io', 'subjectaccessreviews'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'clusterrole-aggregation-controller': [
    may('escalate get list patch update watch', 'rbac.authorization.k8s.io', 'clusterroles'),
  ],
  'cronjob-controller': [
    may('get list update watch', 'batch', 'cronjobs'),
    may('create delete get list patch update watch', 'batch', 'jobs'),
    may('update', 'batch', 'cronjobs/status'),
    may('update', 'batch', 'cronjobs/finalizers'),
    may('delete list watch', 'core', 'pods'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'daemon-set-controller': [
    may(read, 'apps extensions', 'daemonsets'),
    may('update', 'apps extensions', 'daemonsets/status'),
    may('update', 'apps extensions', 'daemonsets/finalizers'),
    may('list watch', 'core', 'nodes'),
    may('create delete list patch watch', 'core', 'pods'),
    may('create', 'core', 'pods/binding'),
    may('create delete get list patch update watch', 'apps', 'controllerrevisions'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'deployment-controller': [
    may('get list update watch', 'apps extensions', 'deployments'),
    may('update', 'apps extensions', 'deployments/status'),
    may('update', 'apps extensions', 'deployments/finalizers'),
    may('create delete get list patch update watch', 'apps extensions', 'replicasets'),
    may('get list update watch', 'core', 'pods'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'disruption-controller': [
    may(read, 'apps extensions', 'deployments'),
    may(read, 'apps extensions', 'replicasets'),
    may(read, 'core', 'replicationcontrollers'),
    may(read, 'policy', 'poddisruptionbudgets'),
    may(read, 'apps', 'statefulsets'),
    may('update', 'policy', 'poddisruptionbudgets/status'),
    may('patch update', 'core', 'pods/status'),
    may('get', '*', '*/scale'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'endpoint-controller': [
    may(read, 'core', 'pods services'),
    may('create delete get list update watch', 'core', 'endpoints'),
    may('create', 'core', 'endpoints/restricted'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'endpointslice-controller': [
    may(read, 'core', 'nodes pods services'),
    may('update', 'core', 'services/finalizers'),
    may('create delete get list update watch', 'discovery.k8s.io', 'endpointslices'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'endpointslicemirroring-controller': [
    may(read, 'core', 'endpoints services'),
    may('update', 'core', 'services/finalizers'),
    may('update', 'core', 'endpoints/finalizers'),
    may('create delete get list update watch', 'discovery.k8s.io', 'endpointslices'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'ephemeral-volume-controller': [
    may(read, 'core', 'pods'),
    may('update', 'core', 'pods/finalizers'),
    may('create get list watch', 'core', 'persistentvolumeclaims'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'expand-controller': [
    may('get list patch update watch', 'core', 'persistentvolumes'),
    may('patch update', 'core', 'persistentvolumeclaims/status'),
    may(read, 'core', 'persistentvolumeclaims'),
    may(report, 'core events.k8s.io', 'events'),
    may('get', 'core', 'services'),
  ],
  'generic-garbage-collector': [
    may('delete get list patch update watch', '*', '*'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'horizontal-pod-autoscaler': [
    may(read, 'autoscaling', 'horizontalpodautoscalers'),
    may('update', 'autoscaling', 'horizontalpodautoscalers/status'),
    may('get update', '*', '*/scale'),
    may('list watch', 'core', 'pods'),
    may('list watch', 'metrics.k8s.io', 'pods'),
    may(read, 'custom.metrics.k8s.io', '*'),
    may(read, 'external.metrics.k8s.io', '*'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'job-controller': [
    may('get list patch update watch', 'batch', 'jobs'),
    may('update', 'batch', 'jobs/status'),
    may('update', 'batch', 'jobs/finalizers'),
    may('create delete list patch watch', 'core', 'pods'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'legacy-service-account-token-cleaner': [
    may('get', 'core', 'configmaps', 'kube-apiserver-legacy-service-account-token-tracking'),
    may('delete patch', 'core', 'secrets'),
  ],
  'namespace-controller': [
    may('delete get list watch', 'core', 'namespaces'),
    may('update', 'core', 'namespaces/finalize namespaces/status'),
    may('delete deletecollection get list watch', '*', '*'),
  ],
  'node-controller': [
    may('delete get list patch update watch', 'core', 'nodes'),
    may('patch update', 'core', 'nodes/status'),
    may('patch update', 'core', 'pods/status'),
    may('delete get list watch', 'core', 'pods'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'persistent-volume-binder': [
    may('create delete get list update watch', 'core', 'persistentvolumes'),
    may('update', 'core', 'persistentvolumes/status'),
    may('get list update watch', 'core', 'persistentvolumeclaims'),
    may('update', 'core', 'persistentvolumeclaims/status'),
    may('create delete get list watch', 'core', 'pods'),
    may(read, 'storage.k8s.io', 'storageclasses'),
    may('list watch', 'core', 'nodes'),
    may(report, 'core events.k8s.io', 'events'),
    may('watch', 'core', 'events'),
    may('get', 'core', 'services'),
  ],
  'pod-garbage-collector': [
    may('delete list watch', 'core', 'pods'),
    may(read, 'core', 'nodes'),
    may('patch', 'core', 'pods/status'),
  ],
  'pv-protection-controller': [
    may('get list update watch', 'core', 'persistentvolumes'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'pvc-protection-controller': [
    may('get list update watch', 'core', 'persistentvolumeclaims'),
    may(read, 'core', 'pods'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'replicaset-controller': [
    may('get list update watch', 'apps extensions', 'replicasets'),
    may('update', 'apps extensions', 'replicasets/status'),
    may('update', 'apps extensions', 'replicasets/finalizers'),
    may('create delete list patch watch', 'core', 'pods'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'replication-controller': [
    may('get list update watch', 'core', 'replicationcontrollers'),
    may('update', 'core', 'replicationcontrollers/status'),
    may('update', 'core', 'replicationcontrollers/finalizers'),
    may('create delete list patch watch', 'core', 'pods'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'resource-claim-controller': [
    may(read, 'core', 'pods'),
    may('update', 'core', 'pods/finalizers'),
    may('create delete get list watch', 'resource.k8s.io', 'resourceclaims'),
    may('patch update', 'resource.k8s.io', 'resourceclaims resourceclaims/status'),
    may('patch update', 'core', 'pods/status'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'resourcequota-controller': [
    may('list watch', '*', '*'),
    may('update', 'core', 'resourcequotas/status'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'root-ca-cert-publisher': [may('create update', 'core', 'configmaps'), may(report, 'core events.k8s.io', 'events')],
  'route-controller': [
    may('list watch', 'core', 'nodes'),
    may('patch', 'core', 'nodes/status'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'selinux-warning-controller': [
    may(report, 'core events.k8s.io', 'events'),
    may(read, 'core', 'persistentvolumes'),
    may(read, 'core', 'persistentvolumeclaims'),
    may(read, 'core', 'pods'),
    may(read, 'storage.k8s.io', 'csidrivers'),
  ],
  'service-account-controller': [may('create', 'core', 'serviceaccounts'), may(report, 'core events.k8s.io', 'events')],
  'service-cidrs-controller': [
    may('get list patch update watch', 'networking.k8s.io', 'servicecidrs'),
    may('patch update', 'networking.k8s.io', 'servicecidrs/finalizers'),
    may('patch update', 'networking.k8s.io', 'servicecidrs/status'),
    may(read, 'networking.k8s.io', 'ipaddresses'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'service-controller': [
    may(read, 'core', 'services'),
    may('patch update', 'core', 'services/status'),
    may('list watch', 'core', 'nodes'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'statefulset-controller': [
    may('list watch', 'core', 'pods'),
    may(read, 'apps', 'statefulsets'),
    may('update', 'apps', 'statefulsets/status'),
    may('update', 'apps', 'statefulsets/finalizers'),
    may('create delete get patch update', 'core', 'pods'),
    may('create delete get list patch update watch', 'apps', 'controllerrevisions'),
    may('create get list watch', 'core', 'persistentvolumeclaims'),
    may('delete update', 'core', 'persistentvolumeclaims'),
    may('update', 'core', 'pods/finalizers'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'ttl-after-finished-controller': [
    may('delete get list watch', 'batch', 'jobs'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'ttl-controller': [may('list patch update watch', 'core', 'nodes'), may(report, 'core events.k8s.io', 'events')],
  'validatingadmissionpolicy-status-controller': [
    may(read, 'admissionregistration.k8s.io', 'validatingadmissionpolicies'),
    may('get patch update', 'admissionregistration.k8s.io', 'validatingadmissionpolicies/status'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'volumeattributesclass-protection-controller': [
    may(read, 'core', 'persistentvolumeclaims'),
    may(read, 'core', 'persistentvolumes'),
    may('get list update watch', 'storage.k8s.io', 'volumeattributesclasses'),
    may(report, 'core events.k8s.io', 'events'),
  ],
}

/** Roles inside one namespace, as `namespace/name`. */
export const namespacedRules: Readonly<Record<string, readonly PolicyRule[]>> = {
  'kube-public/system:controller:bootstrap-signer': [
    may(read, 'core', 'configmaps'),
    may('update', 'core', 'configmaps', 'cluster-info'),
    may(report, 'core events.k8s.io', 'events'),
  ],
  'kube-system/extension-apiserver-authentication-reader': [
    may(read, 'core', 'configmaps', 'extension-apiserver-authentication'),
  ],
  'kube-system/system::leader-locking-kube-controller-manager': [
    may('create get list update watch', 'coordination.k8s.io', 'leases'),
    may('create get list update watch', 'coordination.k8s.io', 'leasecandidates'),
  ],
  'kube-system/system::leader-locking-kube-scheduler': [
    may('create get list update watch', 'coordination.k8s.io', 'leases'),
    may('create get list update watch', 'coordination.k8s.io', 'leasecandidates'),
  ],
  'kube-system/system:controller:bootstrap-signer': [may(read, 'core', 'secrets')],
  'kube-system/system:controller:cloud-provider': [may('create get list watch', 'core', 'configmaps')],
  'kube-system/system:controller:token-cleaner': [
    may('delete get list watch', 'core', 'secrets'),
    may(report, 'core events.k8s.io', 'events'),
  ],
}
