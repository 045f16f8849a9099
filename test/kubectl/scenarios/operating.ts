import type { Scenario } from '../scenario.ts'

const request = (name: string): string =>
  `openssl req -new -newkey rsa:2048 -nodes -keyout ${name}.key -out ${name}.csr -subj /CN=jane/O=devs 2>/dev/null
kubectl create --as=jane --as-group=system:masters -f - <<END
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: ${name}}
spec: {request: $(base64 -w0 ${name}.csr), signerName: example.com/signer, usages: [client auth]}
END`

export const operating: readonly Scenario[] = [
  {
    name: 'nodes',
    files: {
      'node.yaml': 'apiVersion: v1\nkind: Node\nmetadata: {name: hand-made}\n',
      'pod.yaml':
        'apiVersion: v1\nkind: Pod\nmetadata: {name: here, labels: {app: here}}\nspec: {nodeName: hand-made, terminationGracePeriodSeconds: 0, containers: [{name: a, image: b}]}\n',
      'loose.yaml':
        'apiVersion: v1\nkind: Pod\nmetadata: {name: loose, labels: {app: here}}\nspec: {containers: [{name: a, image: b}]}\n',
      'binding.yaml':
        'apiVersion: v1\nkind: Binding\nmetadata: {name: loose}\ntarget: {apiVersion: v1, kind: Node, name: hand-made}\n',
      'eviction.yaml': 'apiVersion: policy/v1\nkind: Eviction\nmetadata: {name: loose}\n',
      'pdb.yaml':
        'apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: keep}\nspec: {minAvailable: 5, selector: {matchLabels: {app: here}}}\n',
    },
    commands: [
      'kubectl create -f node.yaml',
      'kubectl get node hand-made',
      'kubectl get node hand-made -o yaml',
      'kubectl taint node hand-made k=v:NoSchedule',
      'kubectl taint node hand-made k=v:NoSchedule',
      'kubectl taint node hand-made k=w:NoSchedule --overwrite',
      'kubectl taint node hand-made k:NoSchedule-',
      'kubectl taint node hand-made k-',
      'kubectl taint node hand-made k=v:Nope',
      'kubectl cordon hand-made',
      'kubectl cordon hand-made',
      'kubectl get node hand-made',
      'kubectl uncordon hand-made',
      'kubectl label node hand-made node-role.kubernetes.io/worker=',
      'kubectl create -f pod.yaml -f loose.yaml',
      'kubectl create --raw /api/v1/namespaces/nodes/pods/loose/binding -f binding.yaml',
      'kubectl create --raw /api/v1/namespaces/nodes/pods/loose/binding -f binding.yaml',
      'kubectl get pods -o wide',
      'kubectl get pods --field-selector=spec.nodeName=hand-made -o name',
      'kubectl create -f pdb.yaml',
      'kubectl create --raw /api/v1/namespaces/nodes/pods/loose/eviction -f eviction.yaml',
      'kubectl delete -f pdb.yaml',
      'kubectl drain hand-made --timeout=3s',
      'kubectl drain hand-made --force --timeout=20s --grace-period=0',
      'kubectl get pods',
      'kubectl drain nope',
      'kubectl delete node hand-made',
      'kubectl logs nope',
      'kubectl exec nope -- date',
      'kubectl top nodes',
      'kubectl top pods',
    ],
  },
  {
    name: 'certificates',
    commands: [
      `${request('csr-yes')}`,
      `${request('csr-no')}`,
      'kubectl get csr csr-yes csr-no',
      'kubectl get csr csr-yes -o yaml | grep -v request:',
      'kubectl certificate approve csr-yes',
      'kubectl certificate approve csr-yes',
      'kubectl certificate deny csr-no',
      'kubectl certificate approve csr-no',
      'kubectl certificate deny csr-nope',
      'kubectl get csr csr-yes csr-no',
      'kubectl get csr csr-yes csr-no -o yaml | grep -v request:',
      'kubectl describe csr csr-yes',
      'kubectl delete csr csr-yes csr-no',
    ],
  },
  {
    name: 'storage',
    files: {
      'pv.yaml':
        'apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: storage-pv}\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}, storageClassName: slow}\n',
      'pvc.yaml':
        'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: slow, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n',
      'class.yaml':
        'apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: slow}\nprovisioner: example.com/slow\n',
      'csi.yaml':
        'apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: csi.example.com}\nspec: {}\n---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: storage-node}\nspec: {drivers: []}\n---\napiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {name: storage-va}\nspec: {attacher: x, nodeName: storage-node, source: {persistentVolumeName: storage-pv}}\n---\napiVersion: storage.k8s.io/v1\nkind: CSIStorageCapacity\nmetadata: {name: cap}\nstorageClassName: slow\ncapacity: 1Gi\n',
    },
    commands: [
      'kubectl create -f class.yaml -f pv.yaml -f pvc.yaml',
      'kubectl get sc slow',
      'kubectl get pv storage-pv',
      'kubectl get pvc',
      'kubectl get pv storage-pv -o yaml',
      'kubectl get pvc data -o yaml',
      'kubectl get sc slow -o yaml',
      'kubectl create -f csi.yaml',
      'kubectl get csidriver,csinode,volumeattachment,csistoragecapacity',
      'kubectl get csidriver csi.example.com -o yaml',
      'kubectl delete -f csi.yaml',
      'kubectl delete -f class.yaml -f pvc.yaml -f pv.yaml --wait=false',
    ],
  },
]
