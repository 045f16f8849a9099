// YAML of others, before it is parsed: the parser recurses, and its cost grows with depth and with every node; so the text is first
// only split into tokens, which is cheap, and refused when either is too large.

import { CST, Lexer } from 'yaml'
import { yamlDepthMax, yamlMarksMax, yamlTokensMax } from './limits.ts'

/** Throws an `Error` whose message says what there is too much of. */
export function refuseYAMLBombs(text: string): void {
  const indents: number[] = []
  let flow = 0
  let inLine = 0
  // Within brackets a comma ends what is nested without brackets; a line of JSON has many pairs, and is not deep.
  let inPair = 0
  let isLineStart = true
  let tokens = 0
  let marks = 0
  for (const lexeme of new Lexer().lex(text)) {
    if (++tokens > yamlTokensMax) throw new Error(`the document has more than ${yamlTokensMax} words`)
    const type = CST.tokenType(lexeme)
    if ((type === 'anchor' || type === 'alias') && ++marks > yamlMarksMax) {
      throw new Error(`the document has more than ${yamlMarksMax} anchors and aliases`)
    }
    if (type === 'newline') {
      isLineStart = true
      inLine = 0
      inPair = 0
      continue
    }
    if (isLineStart) {
      const indent = type === 'space' ? lexeme.length : 0
      while ((indents.at(-1) ?? -1) >= indent) indents.pop()
      indents.push(indent)
      isLineStart = false
    }
    if (type === 'flow-seq-start' || type === 'flow-map-start') flow++
    if (type === 'flow-seq-end' || type === 'flow-map-end') flow--
    if (type === 'comma') inPair = 0
    if (type === 'seq-item-ind' || type === 'explicit-key-ind' || type === 'map-value-ind') {
      if (flow > 0) inPair++
      else inLine++
    }
    const inThisLine = inLine + inPair
    if (indents.length + Math.max(flow, 0) + inThisLine > yamlDepthMax && inThisLine + flow > 0) {
      throw new Error(`exceeded max depth of ${yamlDepthMax}`)
    }
  }
}
