// Every bound in the system, each with its reason. A bound that is met is answered, never crashed on.

/** kube-apiserver's own limit on a request body (3 MiB); etcd refuses about half of that, we store what we accept. */
export const bodyBytesMax = 3 * 1024 * 1024

/** Nesting of a JSON body. Far above any real object, far below the depth at which recursion over it overflows. */
export const jsonDepthMax = 1_000
