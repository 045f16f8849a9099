/** As `engines` in package.json; this file imports nothing, so that every Node can read it. */
const oldest: readonly [major: number, minor: number] = [20, 19]

/** Two lines for the user, or undefined for a Node that will do. */
export function whyTooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return undefined
  return `mooring: this is Node ${version}, and Mooring needs ${oldest.join('.')} or newer\nInstall a newer Node.`
}
