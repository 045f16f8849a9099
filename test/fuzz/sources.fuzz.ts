// Files that describe machines of other platforms, and the XML of a vCenter: any text is read or refused with sentences; what is
// read has MACs and addresses in one spelling.

import { isDeepStrictEqual } from 'node:util'
import { isLinkLocal, parseIP, toIPText } from '../../src/ip/address.ts'
import { parseMAC } from '../../src/ip/mac.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import type { SourceFile, SourceNIC, SourceReading } from '../../src/sources/machine.ts'
import { type FileKind, readFiles } from '../../src/sources/read.ts'
import { readAnswer } from '../../src/vsphere/envelope.ts'
import { readObjects } from '../../src/vsphere/objects.ts'
import { escapeXML, parseXML, type XMLElement, XMLSyntaxError } from '../../src/xml.ts'
import { type FuzzTarget, must, mustBeReadable, unlessRefused } from './target.ts'

function mustBeCanonical({ mac, ips, gateways, dns }: SourceNIC): void {
  must(mac === undefined || parseMAC(mac) === mac, 'a MAC has one spelling')
  for (const { address, prefix } of ips) {
    const ip = parseIP(address)
    must(
      !isMalformed(ip) && toIPText(ip) === address && !isLinkLocal(ip),
      'an address has one spelling, and is not link-local',
    )
    must(prefix === undefined || (Number.isInteger(prefix) && prefix >= 0 && prefix <= 128), 'a prefix is a length')
  }
  for (const address of [...gateways.map(gateway => gateway.address), ...dns]) {
    const ip = parseIP(address)
    must(!isMalformed(ip) && toIPText(ip) === address, 'gateways and name servers are addresses')
  }
}

function mustBeWhole({ machines, faults }: SourceReading): void {
  for (const { where, problem } of faults) {
    mustBeReadable(where)
    mustBeReadable(problem)
  }
  for (const { id, name, nics, notes } of machines) {
    must(id !== '' && name !== '', 'a machine has an id and a name')
    must(new Set(nics.map(({ key }) => key)).size === nics.length, 'cards are told apart by their keys')
    for (const nic of nics) mustBeCanonical(nic)
    for (const { message } of notes) mustBeReadable(message)
  }
}

/** Of one file; those of several are tried with the same text in each. */
function reader(kind: FileKind, corpus: readonly string[], dictionary: readonly string[], files = 1): FuzzTarget {
  return {
    name: `machines of ${kind}`,
    corpus,
    dictionary,
    run(input) {
      const text = input.toString('utf8')
      const given = Array.from({ length: files }, (_, i): SourceFile => ({ name: `file-${i}.conf`, text }))
      const reading = readFiles(kind, given)
      mustBeWhole(reading)
      must(isDeepStrictEqual(readFiles(kind, given), reading), 'the same text is the same machines')
    },
  }
}

const json = ['null', '[]', '{}', '-1', '"__proto__":', '"10.0.0.5"', '"fe80::1%1"', '\u202e', '9007199254740993']

const rvtools = reader(
  'rvtools',
  [
    'VM,Powerstate,Template,SRM Placeholder,NIC label,Network,Starts Connected,Mac Address,IPv4 Address,VM ID\n' +
      'web,poweredOn,False,False,Network adapter 1,prod,True,00:50:56:aa:bb:01,"10.0.0.5, 10.0.0.6",vm-1\n',
    '\ufeffvNetworkVMName;vNetworkMacAddress\r\n"a ""b""";005056aabb01\r\n',
    'VM\tMac Address\na\t\n',
    '#TYPE x\n"VM","Mac Address"\n',
    `VM,Mac Address\n${'a,\n'.repeat(200)}`,
    `VM${',x'.repeat(2_000)}\n`,
    `"${'""'.repeat(20_000)}`,
  ],
  ['"', '""', ',', ';', '\r\n', '\ufeff', 'VM', 'Mac Address', 'Host', 'True', '\u202e'],
  2,
)

const govc = reader(
  'govc',
  [
    '{"virtualMachines":[{"self":{"value":"vm-1"},"name":"web","config":{"hardware":{"device":[{"key":4000,"macAddress":' +
      '"00:50:56:aa:bb:01","backing":{"port":{"portgroupKey":"\u202e"}}}]}},"guest":{"net":[{"deviceConfigId":4000,"ipConfig":' +
      '{"ipAddress":[{"ipAddress":"10.0.0.5","prefixLength":24}]}}],"ipStack":[{"ipRouteConfig":{"ipRoute":[{"network":' +
      '"0.0.0.0","prefixLength":0,"gateway":{"ipAddress":"10.0.0.1","device":"0"}}]}}]}}]}',
    '{"VirtualMachines":[{"Name":"a","Config":{"Hardware":{"Device":[{"AddressType":"x"}]}},"name":"b"}]}',
  ],
  ['"name":', '"Name":', '"macAddress":', '"ipAddress":', '"gateway":', ...json],
)

const vmx = reader(
  'vmx',
  [
    'displayName = "web"\nethernet0.present = "TRUE"\nethernet0.addressType = "static"\nethernet0.address = "00:50:56:00:00:01"\n',
    'DISPLAYNAME="a|22"\nethernet9999.present="1"\nethernet9999.dvs.portgroupId = "\u202e"',
    `displayName = "${'|22'.repeat(20_000)}"`,
    `${'a='.repeat(20_000)}`,
  ],
  ['ethernet0.', ' = "', '"\n', '|00', 'present', 'generatedAddress', '\r\n', '#'],
)

const ovf = reader(
  'ovf',
  [
    '<Envelope xmlns:r="u"><VirtualSystem id="a"><Name>web</Name><VirtualHardwareSection><Item><r:ResourceType>10</r:ResourceType>' +
      '<r:Address>00:50:56:aa:bb:01</r:Address><r:InstanceID>7</r:InstanceID></Item></VirtualHardwareSection></VirtualSystem></Envelope>',
    `<Envelope>${'<VirtualSystemCollection>'.repeat(60)}`,
  ],
  ['<VirtualSystem ', '</Item>', '<!DOCTYPE a [', '<!ENTITY', '&amp;', '&#0;', '<![CDATA[', ']]>', 'xmlns:', '<?xml '],
)

const openstack = reader(
  'openstack',
  [
    '{"servers":[{"id":"s","name":"web","status":"ACTIVE"}],"ports":[{"id":"p","device_id":"s","network_id":"n","mac_address":' +
      '"fa:16:3e:00:00:01","fixed_ips":[{"subnet_id":"u","ip_address":"10.0.0.5"}],"allowed_address_pairs":[{"ip_address":"\u202e"}]}],' +
      '"subnets":[{"id":"u","cidr":"10.0.0.0/24","gateway_ip":"10.0.0.1","dns_nameservers":["10.0.0.53"],"enable_dhcp":true}]}',
    '{"server":{"id":"s","addresses":{"n":[{"addr":"10.0.0.5","OS-EXT-IPS-MAC:mac_addr":"fa:16:3e:00:00:01"}]}}}',
  ],
  ['"server":', '"ports":', '"fixed_ips":', '"cidr":"::/0"', '"addresses":', ...json],
  2,
)

const hyperv = reader(
  'hyperv',
  [
    '[{"VMName":"web","VMId":"v","Id":"a","MacAddress":"00155D010101","SwitchName":"s","IPAddresses":["10.0.0.5"]},' +
      '{"InstanceID":"a","IPAddresses":["10.0.0.5"],"Subnets":["255.255.255.0"],"DefaultGateways":["10.0.0.1"],"DHCPEnabled":true}]',
    '#TYPE x\r\n"VMName","MacAddress","IPAddresses"\r\n"web","00155D010101","10.0.0.5,10.0.0.6"\r\n',
  ],
  ['"VMName":', '"InstanceID":', '"Subnets":["', '0.0.0.0', '255.255.255.255', 'System.String[]', ...json],
)

const proxmox = reader(
  'proxmox',
  [
    'name: web\nnet0: virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=100,link_down=1\nipconfig0: ip=10.0.0.5/24,gw=10.0.0.1,ip6=auto\n',
    'template: 1\n[snap]\nnet0: x',
    `net0: ${'a=b,'.repeat(5_000)}`,
  ],
  ['net0: ', 'ipconfig0: ', 'ip=', ',gw6=', '\n', '[', '#', 'dhcp', 'fe80::1%1', '/0'],
)

/** The same element, written out again. */
function printed({ name, text, children }: XMLElement): string {
  return `<${name}>${escapeXML(text)}${children.map(printed).join('')}</${name}>`
}

const shapeOf = ({ name, text, children }: XMLElement): unknown => ({ name, text, children: children.map(shapeOf) })

const soap = '<E:Envelope xmlns:E="http://schemas.xmlsoap.org/soap/envelope/"><E:Body>'

const vcenterAnswers: FuzzTarget = {
  name: 'answers of a vCenter',
  corpus: [
    `${soap}<XResponse xmlns="urn:vim25"><returnval><token>1</token><objects><obj type="VirtualMachine">vm-1</obj><propSet>` +
      '<name>name</name><val xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:type="T">a</val></propSet><missingSet><path>p' +
      '</path></missingSet></objects></returnval></XResponse></E:Body></E:Envelope>',
    `${soap}<E:Fault><faultstring>no</faultstring><detail><XFault/></detail></E:Fault></E:Body></E:Envelope>`,
    '<!DOCTYPE a [<!ENTITY b "&c;"><!ENTITY c "&b;">]><a>&b;</a>',
    `<a ${Array.from({ length: 2_000 }, (_, i) => `b${i}=""`).join(' ')}/>`,
    `<a>${'&amp;'.repeat(10_000)}<![CDATA[]]]]></a>`,
    '<a\u200d b="\ud800"/>',
  ],
  dictionary: [
    '<',
    '/>',
    '</',
    '&#x10ffff;',
    '&lt;',
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
    '<!DOCTYPE',
    'xmlns=""',
    '\u0000',
    '\r',
  ],
  run(input) {
    const text = input.toString('utf8')
    try {
      const tree = parseXML(text)
      must(
        isDeepStrictEqual(shapeOf(parseXML(printed(tree))), shapeOf(tree)),
        'what was read is written and read alike',
      )
    } catch (error) {
      if (!(error instanceof XMLSyntaxError)) throw error
      mustBeReadable(error.message)
      must(error.line > 0 && error.column > 0, 'a place has a line and a column')
    }
    const answer = unlessRefused(() => readAnswer(text, 'X'), XMLSyntaxError)
    if (answer !== undefined && 'values' in answer) answer.values.map(readObjects)
  },
}

export const sources = [rvtools, govc, vmx, ovf, openstack, hyperv, proxmox, vcenterAnswers]
