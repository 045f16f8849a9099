/**
 * A read that answers everything that was asked before it began. What is asked while one is under way, or while it is not yet
 * time for another (`rest`), waits for the next: no answer is older than its question, and however many ask, one more is due.
 */
export function sharedRead<T>(
  read: (key: string) => Promise<T>,
  rest: (answer: T) => Promise<void> | undefined = () => undefined,
): (key: string) => Promise<T> {
  const underWay = new Map<string, Promise<void>>()
  const next = new Map<string, Promise<T>>()
  const begin = (key: string): Promise<T> => {
    next.delete(key)
    const answer = read(key)
    const end = () => {
      if (underWay.get(key) === over) underWay.delete(key)
    }
    const over: Promise<void> = answer.then(found => {
      const resting = rest(found)
      return resting === undefined ? end() : resting.then(end)
    }, end)
    underWay.set(key, over)
    return answer
  }
  return key => {
    const before = underWay.get(key)
    if (before === undefined) return begin(key)
    const waiting = next.get(key) ?? before.then(() => begin(key))
    next.set(key, waiting)
    return waiting
  }
}
