// `npm run release [-- --out <folder>] [--image <name>]`: see `write.ts` for what is written.

import { parseArgs } from 'node:util'
import { plainInstall } from '../config/manifests.ts'
import { writeRelease } from './write.ts'

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'dist/release' },
    image: { type: 'string' },
  },
})
const { out, image } = values
writeRelease({ out, ...(image !== undefined && { image }), say: line => console.log(line) })
if (image === undefined) {
  console.log(`The image is named ${plainInstall.image}, where there is none: give yours with --image.`)
}
