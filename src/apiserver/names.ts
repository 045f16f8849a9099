// The text rules of Kubernetes: names, label keys and values. Each function answers with the complaints a user would
// read on any cluster; an empty list means the text is fine.

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const label1035 = '[a-z]([-a-z0-9]*[a-z0-9])?'
const qualifiedPart = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const labelValue = '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'

// Written without nested repetition, so that a hostile name costs one pass.
const labelPattern = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/
const label1035Pattern = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/
const partPattern = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/

export function checkSubdomain(text: string): string[] {
  const complaints: string[] = []
  if (text.length > 253) complaints.push('must be no more than 253 characters')
  if (!isSubdomain(text)) {
    complaints.push(
      regexComplaint(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        `${label}(\\.${label})*`,
        'example.com',
      ),
    )
  }
  return complaints
}

export function checkLabel(text: string): string[] {
  const complaints: string[] = []
  if (text.length > 63) complaints.push('must be no more than 63 characters')
  if (!labelPattern.test(text)) {
    const isSubdomainOnly = isSubdomain(text)
    complaints.push(
      isSubdomainOnly
        ? 'must not contain dots'
        : regexComplaint(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
            label,
            'my-name',
            '123-abc',
          ),
    )
  }
  return complaints
}

export function checkLabel1035(text: string): string[] {
  const complaints: string[] = []
  if (text.length > 63) complaints.push('must be no more than 63 characters')
  if (!label1035Pattern.test(text)) {
    complaints.push(
      regexComplaint(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        label1035,
        'my-name',
        'abc-123',
      ),
    )
  }
  return complaints
}

export function checkPathSegment(text: string): string[] {
  if (text === '.' || text === '..') return [`may not be '${text}'`]
  return ['/', '%'].filter(mark => text.includes(mark)).map(mark => `may not contain '${mark}'`)
}

/** Label keys, annotation keys, finalizers: an optional DNS prefix, a slash, a short name. */
export function checkQualifiedName(text: string): string[] {
  const parts = text.split('/')
  const complaints: string[] = []
  if (parts.length > 2) {
    return [
      `a valid label key ${regexComplaint(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        qualifiedPart,
        'MyName',
        'my.name',
        '123-abc',
      )} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  const name = parts.at(-1) ?? ''
  if (parts.length === 2) {
    const prefix = parts[0] ?? ''
    if (prefix === '') complaints.push('prefix part must be non-empty')
    else complaints.push(...checkSubdomain(prefix).map(complaint => `prefix part ${complaint}`))
  }
  if (name === '') complaints.push('name part must be non-empty')
  else if (name.length > 63) complaints.push(`name part ${tooLong(63)}`)
  if (!partPattern.test(name)) {
    complaints.push(
      `name part ${regexComplaint(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        qualifiedPart,
        'MyName',
        'my.name',
        '123-abc',
      )}`,
    )
  }
  return complaints
}

export function checkLabelValue(text: string): string[] {
  const complaints: string[] = []
  if (text.length > 63) complaints.push(tooLong(63))
  if (text !== '' && !partPattern.test(text)) {
    complaints.push(
      regexComplaint(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        labelValue,
        'MyValue',
        'my_value',
        '12345',
      ),
    )
  }
  return complaints
}

function isSubdomain(text: string): boolean {
  return text.split('.').every(part => labelPattern.test(part))
}

function tooLong(length: number): string {
  return `must be no more than ${length} bytes`
}

export function regexComplaint(message: string, pattern: string, ...examples: string[]): string {
  const shown = examples.map(example => `'${example}'`).join(',  or ')
  return examples.length === 0
    ? `${message} (regex used for validation is '${pattern}')`
    : `${message} (e.g. ${shown}, regex used for validation is '${pattern}')`
}
