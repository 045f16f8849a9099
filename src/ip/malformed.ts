// What parsing answers when a text is not what it should be. A wrong text is expected, so it is a value to branch on and
// not an exception; its sentence names the text, says what is wrong with it and what to write instead, and is fit to be
// shown to the person who typed it.

import { showHidden } from '../json.ts'

export interface Malformed {
  /** One sentence for the person who wrote the text. */
  readonly malformed: string
}

/** Longer texts are cut in messages: a message is to be read, and the text may be as long as a request body. */
const quotedCharsMax = 80

export function malformed(text: string, problem: string): Malformed {
  return { malformed: `${quoteText(text)} ${problem}` }
}

export function isMalformed(result: unknown): result is Malformed {
  return typeof result === 'object' && result !== null && 'malformed' in result
}

/** Quotes as JSON does, so that control characters, marks of direction and line ends cannot reshape the message they appear in. */
export function quoteText(text: string): string {
  if (text.length <= quotedCharsMax) return showHidden(JSON.stringify(text))
  return `${showHidden(JSON.stringify(text.slice(0, quotedCharsMax)))}... (${text.length} characters)`
}
