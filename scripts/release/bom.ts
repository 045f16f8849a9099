// What is in the program, by package-lock.json: a CycloneDX document, which scanners of known weaknesses read. `npm sbom` makes
// one too, but has the time, a random number and the name of the folder in it, and with --omit=dev it leaves out packages that
// both the program and its tests need. A release of the same commit is the same bytes.

interface LockedPackage {
  readonly version: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly link?: boolean
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export interface Lock {
  readonly name: string
  readonly version: string
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** Packages that are installed to run it, for every platform; those it is built and tested with are not in it. */
export function toBOM(lock: Lock): object {
  const shipped = Object.entries(lock.packages).filter(
    ([path, { dev, link }]) => path.startsWith('node_modules/') && dev !== true && link !== true,
  )
  const root = purlOf(lock.name, lock.version)
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        'bom-ref': root,
        type: 'application',
        name: lock.name,
        version: lock.version,
        purl: root,
        licenses: [{ expression: lock.packages['']?.license ?? '' }],
      },
    },
    components: shipped.map(([path, locked]) => toComponent(path, locked)),
    dependencies: [
      { ref: root, dependsOn: refsFrom(lock, '') },
      ...shipped.map(([path, { version }]) => ({
        ref: purlOf(nameAt(path), version),
        dependsOn: refsFrom(lock, path),
      })),
    ],
  }
}

function toComponent(path: string, { version, integrity = '', license, optional }: LockedPackage): object {
  const purl = purlOf(nameAt(path), version)
  const [, digest = ''] = integrity.split('sha512-')
  return {
    'bom-ref': purl,
    type: 'library',
    name: nameAt(path),
    version,
    scope: optional === true ? 'optional' : 'required',
    hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    ...(license !== undefined && { licenses: [{ expression: license }] }),
    purl,
  }
}

function refsFrom({ packages }: Lock, path: string): string[] {
  const { dependencies = {}, optionalDependencies = {} } = packages[path] ?? {}
  return Object.keys({ ...dependencies, ...optionalDependencies }).flatMap(name => {
    const found = packages[foundFrom(packages, path, name)]
    return found === undefined ? [] : [purlOf(name, found.version)]
  })
}

/** As Node looks for a package: in the folder of the one that asks, then in those above it. */
function foundFrom(packages: Lock['packages'], path: string, name: string): string {
  const own = `${path === '' ? '' : `${path}/`}node_modules/${name}`
  if (own in packages || path === '') return own
  const above = path.lastIndexOf('/node_modules/')
  return foundFrom(packages, above === -1 ? '' : path.slice(0, above), name)
}

function nameAt(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}
