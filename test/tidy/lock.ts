// What must be true of every package of the lock file before it is installed.

interface LockedPackage {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
  readonly hasInstallScript?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** The root and its workspaces have paths of their own; what is linked is one of those. */
const foreign = (lock: Lock): (readonly [path: string, entry: LockedPackage])[] =>
  Object.entries(lock.packages).filter(([path, { link }]) => path.includes('node_modules/') && link !== true)

/** Without a checksum npm installs whatever the registry answers. */
export function unverified(lock: Lock): string[] {
  return foreign(lock)
    .filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))
    .map(([path]) => path)
}

/** `npm ci` refuses, on a machine whose registry has them, a lock without the optional packages of other platforms. */
export function leftOut(lock: Lock): string[] {
  return foreign(lock).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter(name => !(`node_modules/${name}` in lock.packages) && !(`${path}/node_modules/${name}` in lock.packages))
      .map(name => `${name}, of ${path}`),
  )
}

export function withInstallScript(lock: Lock): string[] {
  return foreign(lock)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
}
