// The parts of undici that are used by themselves: its own index loads clients of other protocols with them, ten megabytes of memory.

declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici'

  export default Agent
}

declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici'

  export default function request(
    this: Dispatcher,
    options: Dispatcher.DispatchOptions & { readonly signal?: AbortSignal },
  ): Promise<Dispatcher.ResponseData>
}

declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici'

  export default buildConnector
}

declare module 'undici/lib/core/errors.js' {
  import { errors } from 'undici'

  export default errors
}
