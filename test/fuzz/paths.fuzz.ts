import { parseRequest } from '../../src/apiserver/request.ts'
import { StatusError } from '../../src/apiserver/status.ts'
import { type FuzzTarget, must, unlessRefused } from './target.ts'

/** What is authorised is what is read here, and the same reading is served: it must not depend on how a path is written. */
export const urlPaths: FuzzTarget = {
  name: 'URL paths',
  corpus: [
    '/api/v1/namespaces/a/namespaces/b',
    '/apis/apps/v1/namespaces/a/deployments/b/status?watch=true&fieldSelector=metadata.name=x',
    '/api/v1/watch/namespaces/a/pods/b',
    '/api/v1/namespaces/a%2fb/pods/..%2f..%00',
    'https://host/apis//v1/./../x',
    '/api/v1/namespaces/a/finalize/b',
  ],
  run(input) {
    const target = input.toString('latin1')
    // A slash inside of a segment is refused later, and cannot be written back.
    if (/%2f/i.test(target)) return
    for (const method of ['GET', 'DELETE', 'POST']) {
      const request = unlessRefused(() => parseRequest(method, target), StatusError)
      if (request === undefined || !request.isResource) continue
      const { group, version, namespace, plural, name, subresource, isInNamespace } = request
      const segments = [plural, name, ...(subresource === '' ? [] : subresource.split('/'))]
      // An empty segment matches nothing that is served; a kind called `watch` is only reached behind another `watch`.
      const whole = isInNamespace ? ['namespaces', namespace, ...segments] : segments
      const root = /^\/*api\//.test(request.path) ? ['api', version] : ['apis', group, version]
      if (whole[0] === 'watch' || subresource.endsWith('/') || [...root, ...whole.slice(0, -1)].includes('')) continue
      const path = `/${[...root, ...whole].map(encodeURIComponent).join('/')}`.replace(/\/+$/, '')
      const again = unlessRefused(() => parseRequest('PUT', path), StatusError)
      must(again?.isResource === true, `${path} is a resource too`)
      if (!again?.isResource) continue
      must(
        JSON.stringify([again.group, again.version, again.namespace, again.plural, again.name, again.subresource]) ===
          JSON.stringify([group, version, namespace, plural, name, subresource]),
        `${path} names the same object`,
      )
    }
  },
}
