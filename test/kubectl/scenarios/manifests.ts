// Objects that several scenarios begin with.

export const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: 'nginx:1.25', ports: [{containerPort: 80}]}
`

export const pod = `apiVersion: v1
kind: Pod
metadata: {name: one, labels: {app: one, tier: front}}
spec:
  containers:
  - {name: main, image: busybox, command: [sleep, '60'], resources: {requests: {cpu: 100m}, limits: {memory: 64Mi}}}
`

export const configMaps = `apiVersion: v1
kind: ConfigMap
metadata: {name: alpha, labels: {tier: front, rank: '2'}}
data: {key: value, other: 'line one'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: beta, labels: {tier: back, rank: '1'}}
data: {key: second}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gamma, labels: {tier: back, rank: '3'}}
`

export function widgets(group: string): string {
  return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.${group}}
spec:
  group: ${group}
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size, description: how big}
    - {name: Colour, type: string, jsonPath: .spec.colour, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        description: Widget is a thing with a size.
        required: [spec]
        properties:
          spec:
            type: object
            description: what is wanted
            required: [size]
            properties:
              size: {type: integer, minimum: 1, maximum: 9, description: how big it is}
              colour: {type: string, enum: [red, blue], default: red}
              replicas: {type: integer}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, weight: {type: integer}}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              replicas: {type: integer}
`
}

export function widget(group: string, name: string, spec: string): string {
  return `apiVersion: ${group}/v1
kind: Widget
metadata: {name: ${name}}
spec: ${spec}
`
}

export const established = 'kubectl wait crd/widgets.GROUP --for=condition=Established --timeout=30s'
