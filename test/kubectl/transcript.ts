// Recorded answers, kept as one would see them in a terminal: a command after `$ `, what it printed, what it said on
// the error stream after `! `, and how it ended when that was not well. Reviewed and diffed as plain text.

export interface Outcome {
  readonly command: string
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number
}

export function toTranscript(outcomes: readonly Outcome[]): string {
  return outcomes.map(toText).join('\n')
}

export function toText({ command, stdout, stderr, exitCode }: Outcome): string {
  return [
    `$ ${command.replaceAll('\n', '\n  ')}\n`,
    withNewline(stdout),
    withNewline(stderr.replace(/^(?=.)/gm, '! ')),
    exitCode === 0 ? '' : `(exit code ${exitCode})\n`,
  ].join('')
}

/** The recorded text of each command, in order. */
export function parseTranscript(text: string): string[] {
  return text.split(/\n(?=\$ )/).map(withNewline)
}

function withNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
