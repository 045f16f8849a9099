// The kubeconfig of a service account: what a pod's client is given by its node, as a file.

/** `ca` is PEM text. JSON is YAML too. */
export function tokenKubeconfig(
  { server, ca }: { readonly server: string; readonly ca: string },
  user: string,
  token: string,
  namespace: string,
): string {
  const cluster = 'mooring'
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: cluster, cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: cluster, context: { cluster, user, namespace } }],
    'current-context': cluster,
  })
}
