import { fileURLToPath } from 'node:url'

/** Where everything lies that a release is made of. */
export const repository = fileURLToPath(new URL('../../', import.meta.url))
