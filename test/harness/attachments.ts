// NetworkAttachmentDefinitions with good defaults, on a cluster without OVN-Kubernetes.

export const withoutOVN = { isThere: false, onFound: (_found: () => void) => {} }

export const ovn = (config: object = {}): object => ({
  cniVersion: '1.1.0',
  name: 'blue',
  type: 'ovn-k8s-cni-overlay',
  topology: 'layer2',
  subnets: '10.0.0.0/24',
  ...config,
})

export const mooring = (ipam: object = { ranges: ['10.0.0.0/24'] }, config: object = {}): object => ({
  cniVersion: '1.1.0',
  type: 'bridge',
  ipam: { type: 'mooring', ...ipam },
  ...config,
})

export interface AttachmentParts {
  readonly annotations?: Readonly<Record<string, string>>
  readonly created?: string
  readonly metadata?: object
}

/** `key` is namespace/name; a config that is no text becomes JSON. */
export function anAttachment(key: string, config: object | string, parts: AttachmentParts = {}) {
  const [namespace = '', name = ''] = key.split('/')
  return {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: {
      name,
      namespace,
      uid: `uid-${key}`,
      resourceVersion: '1',
      creationTimestamp: parts.created ?? '2026-01-01T00:00:00Z',
      ...(parts.annotations && { annotations: parts.annotations }),
      ...parts.metadata,
    },
    spec: { config: typeof config === 'string' ? config : JSON.stringify(config) },
  }
}
