// Two servers never agree on uids, times, ports and revisions, and a recording must not depend on them. Everything
// else in an answer is compared letter by letter; the padding of tables is kubectl's own work and follows the values.

const rules: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g, '<time>'],
  [/(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, '<time>'],
  [/(?<=resourceVersion\\*"?: ?\\*")\d+(?=\\*")/g, '<revision>'],
  [/resourceVersion=\d+/g, 'resourceVersion=<revision>'],
  [/Resource Version:( +)\d+/g, 'Resource Version:$1<revision>'],
  [/https:\/\/127\.0\.0\.1:\d+/g, 'https://<server>'],
  [/127\.0\.0\.1:\d+/g, '<server>'],
  [/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>'],
  [/^[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ /gm, '<log> '],
  // A client on a busy machine complains to itself about watches that end too soon.
  [/^<log> reflector\.go.*\n/gm, ''],
  [/\b10\.96\.(?:\d+)\.\d+\b/g, '<cluster ip>'],
  [/(?<=\bnodePort"?: |NodePort: .*|:)3[0-2]\d{3}\b/g, '<node port>'],
  [/(?<=\W)(?:Kube-API-Access-|kube-api-access-)[a-z0-9]{5}\b/g, 'kube-api-access-<suffix>'],
  [/\/tmp\/[\w-]*mooring-kubectl-\w+/g, '<dir>'],
  [/(?<=(?:LIVE|MERGED)-)\d+/g, '<number>'],
  [/(?<=resource version to be \d+, was )\d+/g, '<revision>'],
  [/(?<=^| {2}|\t)(?:\d+[dhm])*\d+[dhms](?=\s*$| {2}|\t| ago| \(x)/gm, '<age>'],
  [/(?<=over )(?:\d+[dhm])*\d+[dhms]/g, '<age>'],
  [/(?<=\S) {2,}/g, '  '],
  [/[ \t]+$/gm, ''],
]

// The API server lists the writers of one second by name and those of two by time; which it is depends on how fast
// the machine was. What each of them owns is compared, in one order.
const managedFields = /(?<=^( *)managedFields:\n)(?:\1- .*\n(?:\1 {2}.*\n)*)+/gm

function sortManagedFields(text: string): string {
  return text.replace(managedFields, (entries: string, indent: string) => {
    const managerOf = (entry: string) => /^ *manager: (.*)$/m.exec(entry)?.[1] ?? ''
    return entries
      .split(new RegExp(`^(?=${indent}- )`, 'm'))
      .toSorted((left, right) => managerOf(left).localeCompare(managerOf(right)))
      .join('')
  })
}

export function normalise(text: string): string {
  return sortManagedFields(rules.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text))
}
