// The kinds in which webhooks are registered, and the policies that are in the place of some.

import { defineKind, type KubeObject } from '../kube/object.ts'

const configurations = (kind: string, plural: string) =>
  defineKind<KubeObject>({ group: 'admissionregistration.k8s.io', versions: ['v1'], plural, kind, namespaced: false })

export const validatingConfigurations = configurations(
  'ValidatingWebhookConfiguration',
  'validatingwebhookconfigurations',
)

export const mutatingConfigurations = configurations('MutatingWebhookConfiguration', 'mutatingwebhookconfigurations')

export const policies = configurations('ValidatingAdmissionPolicy', 'validatingadmissionpolicies')

export const policyBindings = configurations('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings')
