// What a guest has for its network at a boot: whether it looks at the arguments that its virtual machine was told at all, and what is left
// of them at the next boot. That is decided inside of the guest, by Afterburn and by what copies connections to its disk; it is said here
// because an address that a machine loses when it reboots is found out late.
//
//   the first boot                                     what it was told; nothing told is DHCP
//   the first boot, `ip=` on its own command line      that, and nothing of what it was told
//   a later boot                                       what is on its disk, whatever it is told by then
//   a later boot, Ignition wrote connections           those: what the first boot had was not copied

import { type KargsReading, readKargs } from './read.ts'

export interface Told {
  /** The value of `guestinfo.afterburn.initrd.network-kargs`. */
  readonly kargs: string
  /** With which its template starts the kernel. */
  readonly commandLine: string
  /** Files of NetworkManager that Ignition writes. */
  readonly connectionFiles: readonly string[]
}

/** As a boot leaves it. */
type Disk = { readonly kept: KargsReading } | { readonly files: readonly string[] }

export interface Booted extends KargsReading {
  readonly disk: Disk
  /** Why it has something else than it was told; undefined where it has that. */
  readonly why: string | undefined
}

/** Without a disk that was booted from before, it is the first boot. */
export function bootGuest(told: Told, disk?: Disk): Booted {
  if (disk !== undefined) return bootFrom(disk)
  const own = told.commandLine.split(/\s+/).filter(item => item.startsWith('ip='))
  const reading = readKargs(own.length > 0 ? told.commandLine : told.kargs)
  const { connectionFiles: files } = told
  const why = `its own command line has ${own.join(' ')}, so it does not look at what it is told`
  return {
    ...reading,
    disk: files.length > 0 ? { files } : { kept: reading },
    why: own.length > 0 && told.kargs !== '' ? why : undefined,
  }
}

function bootFrom(disk: Disk): Booted {
  if ('kept' in disk) return { ...disk.kept, disk, why: undefined }
  const why = `Ignition writes ${disk.files.join(', ')}, so after its first boot it has that, and not what it is told`
  return { connections: [], dropped: [], disk, why }
}
