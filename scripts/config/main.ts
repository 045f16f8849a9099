// `npm run config`: writes `config/rbac`, `config/manager`, `config/webhook` and tables of docs/reference/controller.md from
// the table of desks.
// `npm run config -- --print [--namespace NS] [--image IMAGE] [--watch NS] [--desks LIST] [--ca-bundle BASE64]`: all that is
// applied to a cluster, definitions with their converter included, as one stream.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { parseDesks } from '../../src/cli/desks.ts'
import { withMadeTables } from './controller-page.ts'
import { type InstallOptions, plainInstall, toFiles, toInstallation, toYAML } from './manifests.ts'

const { values } = parseArgs({
  options: {
    print: { type: 'boolean', default: false },
    namespace: { type: 'string', default: plainInstall.namespace },
    image: { type: 'string', default: plainInstall.image },
    watch: { type: 'string', default: '' },
    desks: { type: 'string', default: plainInstall.on.join(',') },
    'ca-bundle': { type: 'string' },
  },
})
const caBundle = values['ca-bundle']
const options: InstallOptions = {
  ...plainInstall,
  namespace: values.namespace,
  image: values.image,
  watchedNamespace: values.watch,
  on: parseDesks(values.desks),
  ...(caBundle !== undefined && { authority: { kind: 'given', caBundle } }),
}

if (values.print) {
  process.stdout.write(toYAML(toInstallation(options), options))
} else {
  const folder = fileURLToPath(new URL('../../config', import.meta.url))
  for (const { path, text } of toFiles(options)) {
    const target = join(folder, path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text)
    console.log(`config/${path}`)
  }
  const page = fileURLToPath(new URL('../../docs/reference/controller.md', import.meta.url))
  writeFileSync(page, withMadeTables(readFileSync(page, 'utf8'), options.desks))
  console.log('docs/reference/controller.md')
}
