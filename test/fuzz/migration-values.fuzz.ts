import { attachmentName, differencesFrom, toAttachment } from '../../src/migration/attachment.ts'
import { checkSettingValue } from '../../src/migration/check.ts'
import { describeProblem } from '../../src/migration/problem.ts'
import { countUsable } from '../../src/migration/range.ts'
import { readSettingValue } from '../../src/migration/wanted.ts'
import { parseAttachment } from '../../src/networks/attachment.ts'
import { type FuzzTarget, must, mustBeReadable } from './target.ts'

const noCluster = {
  nodes: [],
  consumers: 0,
  clusterNetworks: [],
  vlanConfigs: [],
  vlanStatuses: [],
  settings: [],
  spaces: [],
}

export const migrationValues: FuzzTarget = {
  name: 'values of migration networks',
  corpus: [
    '{"clusterNetwork":"migration","vlan":100,"range":"10.1.2.0/24","exclude":["10.1.2.0/28","10.1.2.200"]}',
    '{"clusterNetwork":"mgmt","vlan":2,"range":"10.1.0.0/16","rangeV6":"fd00::/64","rangeV6Start":"fd00::1","rangeV6End":"fd00::ff","ipam":"mooring"}',
    '{"range":"::ffff:0:0/96","exclude":["::/0"],"vlan":65535,"exclusiveVlan":true}',
    '{}',
    'null',
    '[]',
    '{"__proto__":1,"constructor":2}',
  ],
  dictionary: [
    '"clusterNetwork":',
    '"vlan":',
    '"range":',
    '"exclude":[',
    '"rangeV6":',
    '"ipam":"mooring"',
    '/0',
    '/32',
    '::',
    '0.0.0.0',
  ],
  run(input) {
    const text = input.toString('utf8')
    const read = readSettingValue(text)
    if (read === 'default') return must(text === '', 'only the empty value is the default')
    const { problems } = checkSettingValue(text, noCluster)
    mustBeReadable(problems.map(describeProblem).join('\n').slice(0, 4_000))
    if ('problems' in read) return must(problems.length > 0, 'what cannot be read is refused')
    const { wanted } = read
    const again = readSettingValue(wanted.canonical)
    must(
      again !== 'default' && 'wanted' in again && again.wanted.hash === wanted.hash,
      'the canonical text means the same',
    )
    must(countUsable(wanted.ranges) >= 0n, 'addresses are counted')
    const made = toAttachment(wanted)
    must(made.metadata.name === attachmentName(wanted), 'one meaning has one name')
    must(differencesFrom(made.spec.config, wanted).length === 0, 'what was made is what is wanted')
    must(!('malformed' in parseAttachment(made)), 'what was made can be read')
  },
}
