// install-config.yaml and kernel arguments: any text is read or refused with sentences that have a place; what has no errors is
// rendered, and what was rendered says the addresses of the hosts.

import { isDeepStrictEqual } from 'node:util'
import { checkInstallConfig } from '../../src/install/check.ts'
import { readInstallConfig } from '../../src/install/config.ts'
import type { Fault } from '../../src/install/fault.ts'
import { renderManifests } from '../../src/install/manifests.ts'
import { nodesOf } from '../../src/install/nodes.ts'
import { renderPools } from '../../src/install/pools.ts'
import { parseCIDR, toCIDRText } from '../../src/ip/cidr.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { hasFaults, printKargs } from '../../src/kargs/print.ts'
import { readKargs } from '../../src/kargs/read.ts'
import { aDevice, aHost, installConfig, threeAndThree } from '../harness/install-config.ts'
import { type FuzzTarget, must, mustBeReadable } from './target.ts'

function mustBeTold(faults: readonly Fault[], text: string): void {
  const lines = text.split(/\r\n|[\n\r]/).length
  for (const { line, column, path, message } of faults) {
    must(line >= 1 && line <= lines && column >= 1, `a fault has a place in the file: ${line}:${column} of ${lines}`)
    mustBeReadable(message)
    mustBeReadable(path)
    must(path.length < 1_000, 'a path has an end')
  }
}

export const installConfigs: FuzzTarget = {
  name: 'install-configs',
  corpus: [
    installConfig(),
    installConfig({ hosts: undefined }),
    installConfig({ hosts: [] }),
    installConfig({
      hosts: threeAndThree().map((host, i) =>
        i === 4 ? aHost('compute', 244, { networkDevice: aDevice('192.168.101.244/24', '2001:db8::5/64') }) : host,
      ),
      networking: {},
    }),
    'platform: {vsphere: {hosts: [&h {role: compute, networkDevice: &d {ipAddrs: [10.0.0.5/24]}}, {<<: *h, Role: x, y: *d}]}}',
    'platform: {vsphere: {vCenter: v, datacenter: dc, network: n, defaultDatastore: ds, cluster: k, hosts: [{}]}}',
    `platform: {vsphere: {hosts: [${'{},'.repeat(500)}]}}`,
  ],
  dictionary: [
    'hosts:',
    '- role: compute\n',
    'networkDevice: {ipAddrs: [',
    'failureDomain:',
    'gateway: ',
    '10.0.0.5/24',
    '"::ffff:1.2.3.4/96"',
    'fe80::1%eth0',
    'zones: [a]',
    'replicas: 2000000000',
    '&a ',
    '*a',
    '<<: ',
    '\u202e',
    '__proto__: ',
    '~',
  ],
  run(input) {
    const text = input.toString('utf8')
    const faults: Fault[] = []
    const config = readInstallConfig(text, faults)
    must(config !== undefined || faults.length > 0, 'what cannot be read is told so')
    if (config !== undefined) faults.push(...checkInstallConfig(config))
    mustBeTold(faults, text)
    if (config === undefined || faults.some(({ severity }) => severity === 'error')) return
    const manifests = renderManifests(config, 'c1-abcde')
    must(new Set(manifests.map(({ file }) => file)).size === manifests.length, 'each object has a file of its own')
    for (const { file } of manifests)
      must(/^99_openshift-[a-z0-9_.-]+\.yaml$/.test(file), `${file} is the name of a file`)
    const { nodes, faults: ours } = nodesOf(
      manifests.map(({ object }) => object),
      config,
    )
    must(ours.length === 0, `what was rendered can be read: ${ours[0]}`)
    const wanted = (config.hosts ?? []).flatMap(({ networkDevice }) =>
      (networkDevice?.ipAddrs ?? []).flatMap(({ value }) => {
        const cidr = parseCIDR(value)
        return isMalformed(cidr) ? [] : [toCIDRText(cidr)]
      }),
    )
    const told = nodes.flatMap(({ addresses }) => addresses)
    must(isDeepStrictEqual(told.toSorted(), wanted.toSorted()), 'each host has its addresses, and no other has them')
    renderPools(config, [])
  },
}

/** The first word is the kind of the line, the others are what a device is told. */
export const kernelArguments: FuzzTarget = {
  name: 'kernel arguments',
  corpus: [
    'ip=192.168.1.2::192.168.1.1:255.255.255.0:::none nameserver=192.168.1.100',
    'ip=[2001::2]::[2001::1]:64::00-50-56-aa-bb-cc:none nameserver=[2001::100]',
    'ip=dhcp ip=ens192:auto6 ip=10.0.0.5::::::off',
    '10.0.0.5/24 10.0.0.1 10.0.0.2 ens192',
    '2001:db8::5/64 fe80::1 2001:db8::53 00:50:56:aa:bb:cc',
    `ip=${'['.repeat(5_000)}`,
    `ip=${':'.repeat(20_000)}`,
  ],
  dictionary: [
    'ip=',
    'nameserver=',
    ':',
    '::',
    '[',
    ']',
    'none',
    'dhcp',
    '255.255.255.0',
    '\t',
    '\n',
    '%',
    '/0',
    '00-50',
  ],
  run(input) {
    const text = input.toString('utf8')
    const reading = readKargs(text)
    for (const { why } of reading.dropped) mustBeReadable(why)
    must(isDeepStrictEqual(readKargs(text), reading), 'the same arguments are the same connections')
    const [address = '', gateway = '', server = '', nic] = text.split(' ')
    const printed = printKargs([
      { field: 'd', ipAddrs: [address], gateway, nameservers: [server], nic },
      { field: 'e' },
    ])
    if (hasFaults(printed)) {
      for (const fault of printed.faults) mustBeReadable(fault)
      return
    }
    must(/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(printed.kargs), 'arguments are words with one space between')
    must(printed.kargs.split(' ').length === 2, 'nothing that was told becomes an argument of its own')
    const { connections } = readKargs(printed.kargs)
    const families = connections.flatMap(({ ipv4, ipv6 }) => [...ipv4.addresses, ...ipv6.addresses])
    const cidr = parseCIDR(address)
    must(!isMalformed(cidr) && isDeepStrictEqual(families, [toCIDRText(cidr)]), 'the guest has the address')
  },
}
