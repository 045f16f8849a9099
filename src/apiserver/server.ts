// The API server, assembled from its parts. Store, certificates, clock and random numbers are passed in; the result is
// a function from request to response, and start and stop for its controllers.

import type { Store } from '../store/store.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { createAdmission, resolveService } from './admission/chain.ts'
import { createWebhookWire } from './admission/wire.ts'
import { createAsk } from './aggregation/ask.ts'
import { createDialer } from './aggregation/dial.ts'
import { followForeign } from './aggregation/foreign.ts'
import { createProxy } from './aggregation/proxy.ts'
import { createAuthenticator } from './authn/authenticate.ts'
import { createTokens, type Find } from './authn/service-account-token.ts'
import { createRBAC } from './authz/rbac.ts'
import { bootstrap } from './bootstrap.ts'
import type { World } from './call.ts'
import type { Issued } from './certificates/issue.ts'
import type { KeptCertificates } from './certificates/keep.ts'
import { createControllers, need } from './controllers/controllers.ts'
import { convertByWebhook } from './crd/convert-webhook.ts'
import { type Actions, withActions } from './edge/actions.ts'
import { createDocuments } from './edge/documents.ts'
import { createHandler, type Handler } from './edge/handler.ts'
import { createInFlight, type InFlightLimits } from './edge/in-flight.ts'
import { createOwnFirst } from './edge/own-first.ts'
import { builtinResources } from './kinds/builtin-resources.ts'
import { Registry } from './kinds/registry.ts'
import { createLocalClient } from './local-client.ts'
import { decodeEntry, getObject, listObjects } from './objects.ts'
import { countRequests } from './request-metrics.ts'

export interface APIServerOptions {
  readonly store: Store
  readonly certificates: KeptCertificates
  /** Where clients reach this server, `host:port`. */
  readonly address: () => string
  readonly now: () => Date
  readonly random: () => number
  readonly randomUUID: () => string
  /** Called with faults of this server, not of a request. */
  readonly onError: (error: unknown, what: string) => void
  readonly inFlight?: InFlightLimits
  /** How much the controllers have to do that share this process. */
  readonly ownWork?: () => number
  /** Where numbers about requests and the store are kept, and what /metrics shows. */
  readonly metrics?: Metrics
  /** Told of every request that comes through the handler; those of the server's own controllers do not. */
  readonly onAudit?: ((event: object) => void) | undefined
  /** By what webhooks know that this server asks. */
  readonly webhookClient?: () => Issued
  /** Commands of the product (POST) at paths of its own, beside the Kubernetes API. */
  readonly actions?: Actions
}

export interface APIServer {
  readonly handler: Handler
  readonly world: World
  /** Creates what every cluster has and starts the controllers. */
  start(): Promise<void>
  stop(): void
}

const issuer = 'https://kubernetes.default.svc'

export function createAPIServer(options: APIServerOptions): APIServer {
  const { store, certificates, now, random, randomUUID, onError } = options
  const registry = new Registry()
  registry.addAll(builtinResources())
  const rbac = createRBAC()
  const find: Find = (plural, namespace, name) => getObject(store, need(registry, '', plural), namespace, name)
  const tokens = createTokens({
    issuer,
    audiences: [issuer],
    signingKey: certificates.serviceAccountKey(),
    find,
    clock: now,
    randomUUID,
  })
  const wire = createWebhookWire({
    resolveService: (namespace, name, port) => resolveService({ store, registry }, namespace, name, port),
    timeout: seconds => AbortSignal.timeout(seconds * 1000),
    clientCertificate: options.webhookClient,
  })
  const admission = createAdmission({ store, registry, rbac, random, randomUUID }, wire.post)
  const world: World = { store, registry, admission, rbac, tokens, find, now, random, randomUUID }
  const foreign = followForeign(world, need(registry, 'apiregistration.k8s.io', 'apiservices'))
  const dialer = createDialer(() => certificates.frontProxy())
  const isReady = { value: false }
  const metrics = options.metrics ?? createMetrics()
  const inFlight = createInFlight(options.inFlight)

  const handler = createHandler({
    world,
    authenticate: createAuthenticator({
      ca: () => certificates.ca().certificate,
      tokens,
      clock: now,
      allowAnonymous: true,
    }),
    authorize: rbac.authorize,
    inFlight,
    ownFirst: createOwnFirst({ ownWork: options.ownWork ?? (() => 0) }),
    proxy: createProxy(world, foreign, dialer),
    onAnswered: countRequests(metrics, { store, running: inFlight.running }),
    onAudit: options.onAudit,
    servePath: withActions(
      options.actions ?? {},
      createDocuments({
        registry,
        foreign,
        tokens,
        certificates,
        address: options.address,
        health: {
          live: { ping: () => undefined, log: () => undefined, etcd: () => undefined },
          ready: { 'informer-sync': () => (isReady.value ? undefined : 'the controllers are starting') },
        },
        metrics: () => metrics.text(),
      }),
    ),
    onInternalError: onError,
  })

  const { customResources, others } = createControllers(world, {
    convertByWebhook: (objects, apiVersion, conversion) =>
      convertByWebhook(objects, apiVersion, conversion, { post: wire.post, randomUUID }),
    authorities: {
      ca: () => certificates.ca().certificate,
      frontProxyCA: () => certificates.frontProxyCA().certificate,
    },
    foreign,
    ask: createAsk(dialer),
    onError,
  })
  const stopRBAC = followRBAC(world)

  return {
    handler,
    world,
    async start() {
      customResources.start()
      await bootstrap(world, createLocalClient(world, 'system:apiserver', 'kube-apiserver'))
      for (const controller of others) controller.start()
      isReady.value = true
    },
    stop() {
      isReady.value = false
      for (const controller of [...others, customResources]) controller.stop()
      stopRBAC()
      foreign.stop()
      dialer.close()
      void wire.close()
    },
  }
}

/** The authorizer's view is always the published one: it is told of every role and binding in publication order. */
function followRBAC({ store, registry, rbac }: World): () => void {
  const stops = ['clusterroles', 'roles', 'clusterrolebindings', 'rolebindings'].map(plural => {
    const resource = need(registry, 'rbac.authorization.k8s.io', plural)
    for (const object of listObjects(store, resource)) rbac.keep(object)
    const watch = store.watch(resource.keyPrefix, store.revision, ({ type, entry }) => {
      if (type === 'put') rbac.keep(decodeEntry(entry))
      else rbac.forget(decodeEntry(entry))
    })
    return () => watch.stop()
  })
  return () => {
    for (const stop of stops) stop()
  }
}
