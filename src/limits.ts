// Every bound in the system, each with its reason. A bound that is met is answered, never crashed on.

/** kube-apiserver's own limit on a request body (3 MiB); etcd refuses about half of that, we store what we accept. */
export const bodyBytesMax = 3 * 1024 * 1024

/** How long a body may take to arrive, as kube-apiserver's limit on a whole request: a trickle must not hold a place. */
export const bodyMsMax = 60_000

/** How long the end of a stream may take to reach a client that has ceased to read; then its socket is closed. */
export const streamEndMsMax = 10_000

/** Nesting of a JSON body. Far above any real object, far below the depth at which recursion over it overflows. */
export const jsonDepthMax = 1_000

/** Nesting of a YAML body: reading it recurses, several calls to a level. */
export const yamlDepthMax = 200

/** Words and marks of a YAML body: some seconds of reading. A body of this size comes as JSON from every real client. */
export const yamlTokensMax = 500_000

/** Aliases in a YAML body may repeat a node this often; more is a bomb, not a manifest. */
export const yamlAliasesMax = 100

/** Anchors and aliases of a YAML body together: to find what an alias means, the reader looks at each of them. */
export const yamlMarksMax = 2_000

/** Faults that one answer names: an answer is to be read, and a body of the largest size may have a million. */
export const faultsNamedMax = 1_000

/** A watch without a timeout of its own lasts between this and twice this, so that reconnects do not bunch up. */
export const watchSecondsDefaultMin = 1_800

/** How often a watch that asked for bookmarks gets one, as kube-apiserver does. */
export const bookmarkIntervalMs = 60_000

/** What a watch may have waiting for a client that does not read; beyond it the watch is cut with 410. */
export const watchBufferBytesMax = 8 * 1024 * 1024

/** Open watches; each costs a socket or stream and a little memory. */
export const watchesMax = 20_000

/** Requests under way at once, as kube-apiserver's defaults; more are answered 429. */
export const readsInFlightMax = 400
export const writesInFlightMax = 200

/**
 * So many keys that the controllers of this process work on, or are to, keep it busy. While there are as many, the custom objects
 * that clients create wait: so many of them, each for so long at most. What was taken in shares the process with all else that was:
 * with more keys, each object is served later, and none sooner.
 */
export const ownWorkEnough = 12
export const createsWaitingMax = 1_000
/**
 * Long enough that it is not the rule where the machine is slow: then objects would come in quicker than they are served. Short enough
 * for clients that give a request ten seconds and some more.
 */
export const createWaitMsMax = 10_000

/** What a refused client is asked to wait before it tries again. */
export const retryAfterSeconds = 1

/** What one user may have of these at once, in parts of the whole: the others are served beside a user that floods. */
export const shareOfOneUser = 0.5

/** Connections to the API; each costs some 100 KB. Go clients put all their watches on one. */
export const connectionsMax = 5_000

/** Beyond the limit so many more are told why they are refused; the rest are hung up on before TLS. */
export const refusedConnectionsMax = 200

/** HTTP/2 streams on one connection; a Go client opens another connection beyond it. */
export const streamsPerConnectionMax = 250

/** The answer of a webhook. A patch may carry a whole new object, and base64 makes it a third longer. */
export const webhookAnswerBytesMax = 2 * bodyBytesMax

/** Connection pools to webhooks; beyond it the one unused for longest is closed. */
export const webhookPoolsMax = 100

/** How long a connection to an extension API server may take to come about, as Go's dialer has it. */
export const foreignConnectMsMax = 30_000

/** How long an extension API server may take for a request, as kube-apiserver's limit; watches and consoles have none. */
export const foreignRequestMsMax = 60_000

/** And for its discovery document, for which every client waits that asks which kinds there are. */
export const foreignDiscoveryMsMax = 5_000

/** A longer answer of an extension API server, or one whose length is not told, is passed on as it comes. */
export const foreignAnswerBytesBuffered = 64 * 1024

/** What a client may leave unread of such an answer before the server behind it has to wait. */
export const foreignPendingBytesMax = 1024 * 1024

/** The discovery document of an extension API server; those of all of Kubernetes are smaller. */
export const foreignDocumentBytesMax = 4 * 1024 * 1024

/** How long an extension API server may take to say whether it is there. */
export const foreignCheckTimeoutMs = 6_000

/** How often an extension API server is asked whether it is there, as kube-apiserver does; and the longest wait after failures. */
export const foreignCheckMs = 30_000

/** How often certificates are looked at for renewal; they live for months. */
export const certificateCheckMs = 60 * 60 * 1000

/** Single permissions looked at when a role is granted: a rule of a thousand verbs, groups and resources is a billion. */
export const rolePermissionsMax = 100_000

/** Lines of the audit trail that wait for the disk: some ten thousand. What comes after them is counted as lost. */
export const auditBytesMax = 8 * 1024 * 1024

/** An AdmissionReview holds an object twice, as it was and as it would be; etcd stores at most 1.5 MiB of each. */
export const webhookBytesMax = 4 * 1024 * 1024

/** A ConversionReview holds all objects of a page of a list: some thousands of pools. */
export const conversionBytesMax = 8 * 1024 * 1024

/** Bodies under way on the webhook port, all together; more are answered 429. Read and parsed, a byte costs about twenty. */
export const webhookBytesUnderWayMax = 24 * 1024 * 1024

/** So much of each body does not count: a review of an ordinary pool is answered also while large bodies fill the budget. */
export const webhookBytesUncounted = 64 * 1024

/** Connections to the webhook port. API servers keep a few open; each may have a body that does not count. */
export const webhookConnectionsMax = 250

/** How long a request on the webhook port may take to arrive: an API server waits no longer for an answer. */
export const webhookRequestMsMax = 30_000

/** How long a TLS handshake, or the header of a request, may take to arrive on the webhook port. */
export const webhookHeaderMsMax = 10_000

/**
 * How long a released address may be kept from other claims: thirty days. A longer quarantine is a lock, and a pool that an
 * administrator has long forgotten would hold it.
 */
export const quarantineSecondsMax = 30 * 24 * 60 * 60

/**
 * Releases a space remembers in their order, of each length of prefix: what "least recently used" goes by, some megabytes.
 * Of more than these the oldest counts as never used.
 */
export const releasesRememberedMax = 65_536

/** Of the config of a NetworkAttachmentDefinition, which any user of a namespace may write: a hundred times what real ones have. */
export const configCharsMax = 65_536

/** Of one list in it: subnets, ranges, plugins; and of the namespaces that a network is offered to. */
export const configItemsMax = 1_000

/** Of one XML text: a page of machines of a vCenter, or the descriptor of an appliance. A page has some megabytes at most. */
export const xmlCharsMax = 32 * 1024 * 1024

/** Nesting of XML. Answers of a vCenter have about twenty. */
export const xmlDepthMax = 100

/** Elements of one XML text: each costs some hundred bytes, however short its name. */
export const xmlElementsMax = 500_000

/** Of a file that describes machines: an export of a hundred thousand cards has some thirty megabytes. */
export const sourceFileCharsMax = 64 * 1024 * 1024

/** How long a vCenter may take for one call: a page of its property collector on a busy one takes seconds. */
export const vsphereCallMsMax = 60_000

/** Of one answer of a vCenter's REST API: what it tells of the tags of one virtual machine has some kilobytes. */
export const restCharsMax = 1024 * 1024

/** Objects that one listing of a vCenter may come to: three times what the largest vCenter may have. */
export const vsphereObjectsMax = 150_000

/** Claims that are made for one Machine: its author may list any number of pools. Machines have ten devices at most, and few addresses each. */
export const claimsOfMachineMax = 64

/** Tags of one Machine: so many does the machine API of OpenShift allow. */
export const tagsOfMachineMax = 10

/** Machines that one set is scaled to: a vCenter has room for some thousands of virtual machines, and a slip of the finger is none of them. */
export const machinesOfSetMax = 2_000

/** Of an install-config, or of one manifest of an installation: real ones have some ten thousand characters, with a pull secret. */
export const installFileCharsMax = 1024 * 1024

/** Of one list in an install-config: no cluster on vSphere has as many machines. */
export const installItemsMax = 2_000

/** Claims of new Machines that a preflight plays through, in a few seconds: any user who may write a MachineSet may ask for billions. */
export const rehearsedClaimsMax = 10_000

/** One call of the CNI plugin: a page, as a rule; a GC lists all that is attached on a node. The plugin itself reads half of it. */
export const cniRequestBytesMax = 8 * 1024 * 1024

/** Calls of the CNI plugin at once, of one node: more pods than a node has start together. */
export const cniCallsMax = 512

/** How long such a call may take to arrive: the forwarder writes it in one go. */
export const cniRequestMsMax = 5_000
