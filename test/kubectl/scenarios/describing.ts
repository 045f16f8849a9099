import type { Scenario } from '../scenario.ts'
import { deployment, pod, widget, widgets } from './manifests.ts'

const group = 'describe.example.com'
const event = (name: string, reason: string, type: string): string => `apiVersion: v1
kind: Event
metadata: {name: ${name}}
involvedObject: {apiVersion: v1, kind: Pod, name: one, namespace: describe, uid: UID}
reason: ${reason}
message: something about one
type: ${type}
source: {component: tester}
count: 1
firstTimestamp: NOW
lastTimestamp: NOW
`
const fill = (file: string): string =>
  `sed -e "s/UID/$(kubectl get pod one -o jsonpath='{.metadata.uid}')/" -e "s/NOW/$(date -u +%Y-%m-%dT%H:%M:%SZ)/" ${file} | kubectl create -f -`

export const describing: readonly Scenario[] = [
  {
    name: 'describe',
    files: {
      'pod.yaml': pod,
      'deployment.yaml': deployment,
      'crd.yaml': widgets(group),
      'one.yaml': widget(group, 'one', '{size: 3}'),
      'node.yaml':
        'apiVersion: v1\nkind: Node\nmetadata: {name: describe-node, labels: {kubernetes.io/hostname: describe-node, node-role.kubernetes.io/worker: ""}}\nspec: {podCIDR: 10.9.0.0/24}\nstatus: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}, allocatable: {cpu: "4", memory: 8Gi, pods: "110"}, conditions: [{type: Ready, status: "True", reason: KubeletReady}], addresses: [{type: InternalIP, address: 10.0.0.5}], nodeInfo: {kubeletVersion: v1.35.4, osImage: Debian, kernelVersion: "6", containerRuntimeVersion: "x://1", architecture: amd64, operatingSystem: linux, machineID: "", systemUUID: "", bootID: "", kubeProxyVersion: ""}}\n',
      'event.yaml': event('one.1', 'Tested', 'Normal'),
      'event-warning.yaml': event('one.2', 'Worried', 'Warning'),
      'event-new.yaml':
        'apiVersion: events.k8s.io/v1\nkind: Event\nmetadata: {name: one.3}\nregarding: {apiVersion: v1, kind: Pod, name: one, namespace: describe, uid: UID}\nreason: New\nnote: told the new way\ntype: Normal\nreportingController: example.com/tester\nreportingInstance: tester-1\naction: Test\neventTime: NOW\n',
      'event-bad.yaml':
        'apiVersion: events.k8s.io/v1\nkind: Event\nmetadata: {name: one.4}\nregarding: {kind: Pod, name: one, namespace: describe}\neventTime: "2026-01-01T00:00:00.000000Z"\n',
      'service.yaml':
        'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {clusterIP: 10.96.9.9, selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}\n',
    },
    before: [
      'kubectl create -f pod.yaml -f deployment.yaml -f crd.yaml -f node.yaml -f service.yaml',
      'kubectl wait crd/widgets.describe.example.com --for=condition=Established',
      'kubectl create -f one.yaml',
      'kubectl create cm settings --from-literal=a=b',
      'kubectl create secret generic hidden --from-literal=a=b',
    ],
    commands: [
      fill('event.yaml'),
      fill('event-warning.yaml'),
      fill('event-new.yaml').replace('%SZ', '%S.000000Z'),
      'kubectl create -f event-bad.yaml',
      'kubectl get events',
      'kubectl get events --sort-by=.metadata.name -o wide',
      'kubectl get events.events.k8s.io',
      'kubectl get events.events.k8s.io one.1 -o yaml',
      'kubectl get events.v1. one.3 -o yaml',
      'kubectl get events --field-selector=reason=Tested,involvedObject.name=one',
      'kubectl get events.events.k8s.io --field-selector=reason=Tested,regarding.name=one',
      'kubectl events',
      'kubectl events --types=Warning',
      'kubectl events --for=pod/one',
      'kubectl events -A --for=pod/one --no-headers | wc -l',
      'kubectl describe pod one',
      'kubectl describe deploy web',
      'kubectl describe node describe-node',
      'kubectl get node describe-node',
      'kubectl get node describe-node -o wide',
      'kubectl describe svc web',
      'kubectl describe ns describe',
      'kubectl describe secret hidden',
      'kubectl describe cm settings',
      'kubectl describe wd one',
      'kubectl describe crd widgets.describe.example.com',
      'kubectl describe sa default',
      'kubectl describe clusterrole view | head -20',
      'kubectl describe clusterrolebinding cluster-admin',
      'kubectl describe cm nope',
      'kubectl describe nope',
      'kubectl describe pods -l app=one --show-events=false',
      'kubectl describe quota',
      'kubectl create role r --verb=get --resource=pods && kubectl describe role r',
      'kubectl create ingress i --rule=example.com/=web:80 && kubectl describe ingress i',
      'kubectl create job j --image=x && kubectl describe job j',
      "kubectl create cronjob cj --image=x --schedule='@daily' && kubectl describe cronjob cj",
      'kubectl autoscale deploy web --max=3 && kubectl describe hpa web',
      'kubectl create pdb p --selector=a=b --min-available=1 && kubectl describe pdb p',
      'kubectl delete crd widgets.describe.example.com',
      'kubectl delete node describe-node',
    ],
  },
]
