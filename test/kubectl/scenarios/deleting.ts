import type { Scenario } from '../scenario.ts'
import { pod } from './manifests.ts'

const owned = `for kind in a b c; do
kubectl create cm owner-$kind
uid=$(kubectl get cm owner-$kind -o jsonpath='{.metadata.uid}')
kubectl create -f - <<END
apiVersion: v1
kind: ConfigMap
metadata:
  name: owned-$kind
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner-$kind, uid: $uid, blockOwnerDeletion: true}]
END
done`

export const deleting: readonly Scenario[] = [
  {
    name: 'delete',
    files: {
      'pod.yaml': pod,
      'held.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, finalizers: [example.com/hold]}\n',
      'bound.yaml': pod.replace('name: one', 'name: bound').replace('spec:\n', 'spec:\n  nodeName: nowhere\n'),
    },
    before: [
      owned,
      'for n in 1 2 3 4 5 6 7; do kubectl create cm c$n; kubectl label cm c$n n=$n odd=$((n%2)); done',
      'kubectl create -f pod.yaml -f held.yaml -f bound.yaml',
    ],
    commands: [
      'kubectl delete cm c1 --dry-run=client',
      'kubectl delete cm c1 --dry-run=server',
      'kubectl delete cm c1 -o name',
      'kubectl delete cm c1',
      'kubectl delete cm c1 --ignore-not-found',
      'kubectl delete cm/c2 cm/nope',
      'kubectl delete cm -l odd=1',
      'kubectl delete cm -l odd=1',
      'kubectl get cm -l odd',
      'kubectl delete cm --field-selector=metadata.name=c4',
      'kubectl delete cm owner-a --cascade=background && kubectl wait cm/owned-a --for=delete --timeout=30s; kubectl get cm owned-a',
      'kubectl delete cm owner-b --cascade=foreground; kubectl get cm owned-b',
      'kubectl delete cm owner-c --cascade=orphan; kubectl get cm owned-c -o yaml',
      'kubectl delete cm held --wait=false',
      'kubectl get cm held -o yaml',
      'kubectl delete cm held --timeout=1s',
      `kubectl patch cm held --type=merge -p '{"metadata":{"finalizers":["example.com/other"]}}'`,
      `kubectl patch cm held --type=merge -p '{"metadata":{"finalizers":null}}'`,
      'kubectl get cm held',
      'kubectl delete pod bound --wait=false',
      'kubectl get pod bound',
      "kubectl get pod bound -o jsonpath='{.metadata.deletionGracePeriodSeconds}'",
      'kubectl delete pod bound --now --wait=false',
      'kubectl delete pod bound --grace-period=0 --force',
      'kubectl delete pod one --grace-period=0',
      'kubectl delete -f pod.yaml',
      'kubectl delete cm --all',
      'kubectl wait cm/kube-root-ca.crt --for=create --timeout=20s',
      'kubectl delete all --all',
      'kubectl delete nope --all',
      'kubectl delete cm',
      'kubectl delete ns delete-nope',
      'kubectl delete ns default',
      'kubectl delete ns kube-system',
      'kubectl delete --raw /api/v1/namespaces/delete/configmaps/nope',
      'kubectl create ns delete-whole && kubectl create cm x -n delete-whole && kubectl delete ns delete-whole && kubectl get cm -n delete-whole && kubectl create cm x -n delete-whole',
    ],
  },
  {
    name: 'wait',
    files: { 'pod.yaml': pod },
    before: ['kubectl create -f pod.yaml', 'kubectl create cm here --from-literal=a=b'],
    commands: [
      'kubectl wait pod/one --for=condition=Ready --timeout=1s',
      `kubectl patch pod one --subresource=status -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'`,
      'kubectl wait pod/one --for=condition=Ready --timeout=5s',
      'kubectl wait pod/one --for=condition=Ready=false --timeout=1s',
      "kubectl wait pod/one --for=jsonpath='{.status.phase}'=Running --timeout=5s",
      "kubectl wait cm/here --for=jsonpath='{.data.a}'=c --timeout=1s",
      'kubectl wait cm/nope --for=condition=x --timeout=1s',
      'kubectl wait cm/nope --for=delete --timeout=1s',
      'kubectl wait cm/here --for=delete --timeout=1s',
      '(sleep 1; kubectl delete cm here) >/dev/null & kubectl wait cm/here --for=delete --timeout=10s',
      '(sleep 1; kubectl create cm later) >/dev/null & kubectl wait cm/later --for=create --timeout=10s',
      'kubectl wait pods --all --for=condition=Ready --timeout=5s',
      'kubectl wait pods -l nope=x --for=condition=Ready --timeout=1s',
      'kubectl wait pod/one --for=nope --timeout=1s',
    ],
  },
]
