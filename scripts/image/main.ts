// `npm run image [-- --out <file>]`: an OCI image in one archive, made without a daemon or a registry. Then, for example:
//   skopeo copy oci-archive:dist/image/mooring.tar docker://example.com/mooring:v0.1.0

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { buildImage } from './build.ts'

const { values } = parseArgs({ options: { out: { type: 'string', default: 'dist/image/mooring.tar' } } })
const { name, digest, archive } = await buildImage()
mkdirSync(dirname(values.out), { recursive: true })
writeFileSync(values.out, archive)
console.log(`${values.out}: ${name}, ${digest}, ${(archive.length / 1024 ** 2).toFixed(1)} MiB`)
