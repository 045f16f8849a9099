// A stream of bytes cut into lines. A character may be split between two chunks, a line between many; a line that never
// ends is refused before it fills the memory. What follows the last line end is an unfinished line and is dropped: the
// stream was cut there.

/** An event is one object of at most a request's size, printed again, plus its frame. */
const lineCharactersMax = 32 * 1024 * 1024

export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (count: number) => void,
): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let pieces: string[] = []
  let length = 0
  for await (const chunk of chunks) {
    onBytes(chunk.length)
    const text = decoder.decode(chunk, { stream: true })
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      pieces.push(text.slice(start, end))
      const line = pieces.length === 1 ? (pieces[0] ?? '') : pieces.join('')
      pieces = []
      length = 0
      start = end + 1
      if (line !== '') yield line
    }
    if (start === text.length) continue
    pieces.push(start === 0 ? text : text.slice(start))
    length += text.length - start
    if (length > lineCharactersMax) throw new RangeError(`a line is longer than ${lineCharactersMax} characters`)
  }
}
