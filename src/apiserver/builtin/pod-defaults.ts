// The defaults of a pod. The same values stand in every pod template, because the
// controllers compare the templates they wrote with the ones they read.

import { clone, setOwn } from '../object.ts'
import { roundUpToMilli } from '../wire/quantity.ts'
import { ensure, type Fields, fill, isAbsent, items, part, text } from './fields.ts'

const readableByAll = 0o644

export function defaultPodTemplate(template: Fields | undefined): void {
  const spec = part(template, 'spec')
  if (spec !== undefined) defaultPodSpec(spec)
}

function defaultPodSpec(spec: Fields): void {
  fill(spec, 'dnsPolicy', 'ClusterFirst')
  fill(spec, 'restartPolicy', 'Always')
  fill(spec, 'securityContext', {})
  fill(spec, 'terminationGracePeriodSeconds', 30)
  fill(spec, 'schedulerName', 'default-scheduler')
  // The older name of the field is still read by old clients; both always say the same.
  const account = text(spec.serviceAccountName) || text(spec.serviceAccount)
  if (account !== '') Object.assign(spec, { serviceAccountName: account, serviceAccount: account })
  for (const volume of items(spec.volumes)) defaultVolume(volume)
  for (const container of containersOf(spec)) defaultContainer(container)
}

/** Defaults of a pod that its template does not show. */
export function defaultPod(pod: Fields): void {
  settleAddresses(part(pod, 'status'))
  const spec = part(pod, 'spec')
  if (spec === undefined) return
  defaultPodSpec(spec)
  fill(spec, 'enableServiceLinks', true)
  for (const container of [...items(spec.containers), ...items(spec.initContainers)]) {
    requestWhatIsLimited(container)
    if (spec.hostNetwork !== true) continue
    for (const port of items(container.ports)) if (!port.hostPort) port.hostPort = port.containerPort
  }
}

/** `podIP` is for clients that do not read `podIPs`; where the two disagree, `podIP` counts. */
function settleAddresses(status: Fields | undefined): void {
  const first = text(status?.podIP)
  if (status === undefined || first === '' || text(items(status.podIPs)[0]?.ip) === first) return
  status.podIPs = [{ ip: first }]
}

export function containersOf(spec: Fields | undefined): Fields[] {
  return [...items(spec?.containers), ...items(spec?.initContainers), ...items(spec?.ephemeralContainers)]
}

function requestWhatIsLimited(container: Fields): void {
  const limits = part(container, 'resources', 'limits')
  if (limits === undefined || Object.keys(limits).length === 0) return
  const requests = ensure(part(container, 'resources'), 'requests')
  if (requests === undefined) return
  for (const [name, amount] of Object.entries(limits)) {
    if (!Object.hasOwn(requests, name)) setOwn(requests, name, clone(amount))
  }
}

function defaultContainer(container: Fields): void {
  fill(container, 'imagePullPolicy', pullPolicyOf(text(container.image)))
  fill(container, 'terminationMessagePath', '/dev/termination-log')
  fill(container, 'terminationMessagePolicy', 'File')
  for (const list of ['limits', 'requests']) {
    const amounts = part(container, 'resources', list) ?? {}
    for (const name of Object.keys(amounts)) setOwn(amounts, name, roundUpToMilli(amounts[name]))
  }
  for (const port of items(container.ports)) fill(port, 'protocol', 'TCP')
  for (const variable of items(container.env)) {
    fill(part(variable, 'valueFrom', 'fieldRef'), 'apiVersion', 'v1')
    const fileKey = part(variable, 'valueFrom', 'fileKeyRef')
    if (fileKey !== undefined) fill(fileKey, 'optional', false)
  }
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) defaultProbe(part(container, probe))
  for (const hook of ['postStart', 'preStop']) defaultHTTP(part(container, 'lifecycle', hook, 'httpGet'))
}

/** `:latest` may have moved since it was pulled; any other tag, or a digest, counts as fixed. */
function pullPolicyOf(image: string): 'Always' | 'IfNotPresent' {
  const path = image.slice(image.lastIndexOf('/') + 1)
  const hasDigest = path.includes('@')
  const tag = path.split('@')[0]?.split(':')[1] ?? (hasDigest ? '' : 'latest')
  return tag === 'latest' ? 'Always' : 'IfNotPresent'
}

function defaultProbe(probe: Fields | undefined): void {
  if (probe === undefined) return
  const numbers = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }
  for (const [field, value] of Object.entries(numbers)) if (!probe[field]) probe[field] = value
  defaultHTTP(part(probe, 'httpGet'))
  const grpc = part(probe, 'grpc')
  if (grpc !== undefined && (grpc.service === undefined || grpc.service === null)) grpc.service = ''
}

function defaultHTTP(action: Fields | undefined): void {
  fill(action, 'path', '/')
  fill(action, 'scheme', 'HTTP')
}

const fileSources = ['secret', 'configMap', 'downwardAPI', 'projected']

function defaultVolume(volume: Fields): void {
  if (Object.keys(volume).every(field => field === 'name')) volume.emptyDir = {}
  for (const source of fileSources) fill(part(volume, source), 'defaultMode', readableByAll)
  const hostPath = part(volume, 'hostPath')
  if (hostPath !== undefined && isAbsent(hostPath.type)) hostPath.type = ''
  const image = part(volume, 'image')
  if (image !== undefined) fill(image, 'pullPolicy', pullPolicyOf(text(image.reference)))
  for (const file of items(part(volume, 'downwardAPI')?.items)) fill(part(file, 'fieldRef'), 'apiVersion', 'v1')
  for (const source of items(part(volume, 'projected')?.sources)) {
    fill(part(source, 'serviceAccountToken'), 'expirationSeconds', 3600)
    for (const file of items(part(source, 'downwardAPI')?.items)) fill(part(file, 'fieldRef'), 'apiVersion', 'v1')
  }
  defaultDisk(volume)
  fill(part(volume, 'ephemeral', 'volumeClaimTemplate', 'spec'), 'volumeMode', 'Filesystem')
}

/** Disks of pods and of persistent volumes alike. */
export function defaultDisk(volume: Fields): void {
  fill(part(volume, 'iscsi'), 'iscsiInterface', 'default')
  const rbd = part(volume, 'rbd')
  fill(rbd, 'pool', 'rbd')
  fill(rbd, 'user', 'admin')
  fill(rbd, 'keyring', '/etc/ceph/keyring')
  const azure = part(volume, 'azureDisk')
  fill(azure, 'cachingMode', 'ReadWrite')
  fill(azure, 'kind', 'Shared')
  fill(azure, 'fsType', 'ext4')
  fill(azure, 'readOnly', false)
  const scaleIO = part(volume, 'scaleIO')
  fill(scaleIO, 'storageMode', 'ThinProvisioned')
  fill(scaleIO, 'fsType', 'xfs')
}
