// `npm run lock:complete`: adds to package-lock.json the optional packages for other platforms that the registry in use
// did not offer when the lock was made. `npm ci` refuses a lock without them, on every platform. They are pinned to the
// exact version their parent asks for; which system they are for is in their name.

import { readFileSync, writeFileSync } from 'node:fs'

interface Entry {
  version?: string
  cpu?: string[]
  dev?: boolean
  libc?: string[]
  license?: string
  optional?: boolean
  os?: string[]
  optionalDependencies?: Record<string, string>
}

const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

const file = process.argv[2] ?? 'package-lock.json'
const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, Entry> }
const missing = Object.entries(lock.packages).flatMap(([path, parent]) =>
  Object.entries(parent.optionalDependencies ?? {})
    .filter(
      ([name]) => !(`node_modules/${name}` in lock.packages) && !(`${path}/node_modules/${name}` in lock.packages),
    )
    .map(([name, version]): [string, Entry] => [`node_modules/${name}`, toEntry(name, version, parent)]),
)
const packages = { ...lock.packages, ...Object.fromEntries(missing) }
const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en'))
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
console.log(`${missing.length} optional packages added to ${file}`)

function toEntry(name: string, version: string, parent: Entry): Entry {
  const words = name.split(/[/-]/)
  const os = systems.filter(system => words.includes(system))
  const cpu = processors.filter(processor => words.includes(processor))
  const libc = words.some(word => word.startsWith('musl')) ? ['musl'] : words.includes('gnu') ? ['glibc'] : []
  return {
    version,
    ...(cpu.length > 0 && { cpu }),
    ...(parent.dev && { dev: true }),
    ...(libc.length > 0 && { libc }),
    ...(parent.license && { license: parent.license }),
    optional: true,
    ...(os.length > 0 && { os }),
  }
}
