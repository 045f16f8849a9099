// Where the embedded server answers `kubectl` differently from a real kube-apiserver, on purpose. The suite fails when
// one of these becomes equal, so the list stays true; the reference documentation is rendered from it.

export interface Difference {
  readonly scenario: string
  readonly command: string
  readonly reason: string
}

const unservedKinds =
  'Flow control, dynamic resource allocation, service CIDRs and component statuses have nothing behind them here, ' +
  'so they are not served; short names such as `ip` stay free for kinds about addresses.'
const healthChecks = 'The checks name the parts of the server, and this server is made of other parts.'
const nodeTaint = 'No controller here watches nodes, so a taint that says "not ready" would stay on a node for ever.'
const goDiff =
  'kube-apiserver appends a diff of its internal Go structures; the refusal itself is the same, the diff is left out.'

export const differences: readonly Difference[] = [
  { scenario: 'discovery', command: 'kubectl api-resources', reason: unservedKinds },
  { scenario: 'discovery', command: "kubectl get --raw '/readyz?verbose'", reason: healthChecks },
  { scenario: 'discovery', command: "kubectl get --raw '/livez?verbose'", reason: healthChecks },
  { scenario: 'discovery', command: 'kubectl get componentstatuses >/dev/null; echo $?', reason: unservedKinds },
  { scenario: 'discovery', command: 'kubectl get flowschemas -o name', reason: unservedKinds },
  { scenario: 'discovery', command: 'kubectl get prioritylevelconfigurations -o name', reason: unservedKinds },
  { scenario: 'discovery', command: 'kubectl get servicecidr', reason: unservedKinds },
  { scenario: 'discovery', command: 'kubectl get ipaddress', reason: unservedKinds },
  {
    scenario: 'discovery',
    command: 'kubectl get configmaps -n kube-system -o name',
    reason:
      'There is no aggregation layer whose authentication would have to be shared, and there never were tokens of the ' +
      'old kind to keep track of.',
  },
  {
    scenario: 'explain',
    command: 'kubectl explain pod.spec',
    reason:
      'Fields, types and enumerations are those of the served release; the prose of built-in kinds comes from a ' +
      'published package of an earlier one.',
  },
  { scenario: 'nodes', command: 'kubectl get node hand-made -o yaml', reason: nodeTaint },
  { scenario: 'describe', command: 'kubectl describe node describe-node', reason: nodeTaint },
  {
    scenario: 'patch',
    command: `kubectl patch pod one -p '{"spec":{"containers":[{"name":"main","command":["x"]}]}}'`,
    reason: goDiff,
  },
  {
    scenario: 'patch',
    command: `kubectl patch pod one -p '{"spec":{"serviceAccountName":"x"}}'`,
    reason: goDiff,
  },
  { scenario: 'replace', command: 'kubectl replace -f pod-changed.yaml', reason: goDiff },
]
