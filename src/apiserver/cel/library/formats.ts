// Named formats: `format.dns1123Label().validate(text)` answers with what is wrong, or with nothing.

import { Optional } from '@marcbachmann/cel-js'
import { checkLabel, checkLabel1035, checkLabelValue, checkQualifiedName, checkSubdomain } from '../../names.ts'
import { formatCheck } from '../../schema/formats.ts'
import { define, defineNamespace, defineType, type Library } from './library.ts'

type Check = (text: string) => readonly string[]

class NamedFormat {
  readonly name: string
  readonly check: Check

  constructor(name: string, check: Check) {
    this.name = name
    this.check = check
  }
}

/** A prefix may end where a name may not: in a dash that the rest will follow. */
const asPrefix =
  (check: Check): Check =>
  text =>
    check(text.endsWith('-') ? `${text.slice(0, -1)}a` : text)
const by = (format: string, complaint: string): Check => {
  const fits = formatCheck(format)
  return text => (fits === undefined || fits(text) ? [] : [complaint])
}

const known = new Map<string, Check>([
  ['dns1123Label', checkLabel],
  ['dns1123Subdomain', checkSubdomain],
  ['dns1035Label', checkLabel1035],
  ['qualifiedName', checkQualifiedName],
  ['dns1123LabelPrefix', asPrefix(checkLabel)],
  ['dns1123SubdomainPrefix', asPrefix(checkSubdomain)],
  ['dns1035LabelPrefix', asPrefix(checkLabel1035)],
  ['labelValue', checkLabelValue],
  ['uri', by('uri', 'invalid URI for request')],
  ['uuid', by('uuid', 'does not match the UUID format')],
  ['byte', by('byte', 'invalid base64')],
  ['date', by('date', 'invalid date')],
  ['datetime', by('datetime', 'invalid datetime')],
])

export const formats: Library = environment => {
  const type = 'kubernetes.NamedFormat'
  defineType(environment, type, NamedFormat, (a, b) => a.name === b.name)
  defineNamespace(environment, 'format', 'FormatNamespace')
  for (const [name, check] of known) {
    const format = new NamedFormat(name, check)
    define(environment, `FormatNamespace.${name}(): ${type}`, () => format)
  }
  define(environment, `FormatNamespace.named(string): optional<${type}>`, (_: unknown, name: string) => {
    const check = known.get(name)
    return check === undefined ? Optional.none() : Optional.of(new NamedFormat(name, check))
  })
  define(environment, `${type}.validate(string): optional<list<string>>`, (format: NamedFormat, text: string) => {
    const complaints = format.check(text)
    return complaints.length === 0 ? Optional.none() : Optional.of([...complaints])
  })
}
