// A plan of bad weather, as data: at which point of a run which fault strikes. Points are facts that repeat (the n-th
// write of an actor, the n-th event that reaches it, the n-th task it orders at a vCenter), so the same scenario, seed and plan make the same history again.

/** Desks are called by letters. */
export type ActorName = 'A' | 'B'

export interface Point {
  /** A task is ordered at the vCenter; an ask is any other call to it. */
  readonly at: 'write' | 'read' | 'event' | 'task' | 'ask'
  readonly actor: ActorName
  /** Counts this kind alone. */
  readonly kind?: string
  /** Counted from 1, through all lives of the actor. */
  readonly nth: number
}

export type Action =
  /** The desk is gone, with all that it knew; a new one starts soon after. Answered: it had the answer for one turn. */
  | { readonly do: 'crash'; readonly when: 'before' | 'after' | 'answered' }
  /** No answer: before anything happened, or after it did. */
  | { readonly do: 'lose'; readonly what: 'request' | 'answer' }
  /** The request arrives twice. The desk sees the second answer at once, or the first while the copy comes late. */
  | { readonly do: 'repeat'; readonly copyAfterMs: number }
  | { readonly do: 'refuse'; readonly refusal: Refusing }
  /** This request, or its answer, is under way for so long, and the process goes on meanwhile. */
  | { readonly do: 'delay'; readonly what: 'request' | 'answer'; readonly forMs: number }
  /** Another process creates an object of that name first, in the name of another claim or of none. */
  | { readonly do: 'forestall'; readonly as: 'another' | 'none' }
  /** The process stands still, its clock included, with the request in its hand. */
  | { readonly do: 'freeze'; readonly forMs: number }
  /** This event never comes; the stream is listed again after so long. */
  | { readonly do: 'drop'; readonly relistAfterMs: number }
  /** The event comes twice, and once more behind the next one. */
  | { readonly do: 'double' }
  /** From this event on nothing of these kinds comes, for so long; then all at once. */
  | { readonly do: 'hold'; readonly kinds: readonly string[] | 'all'; readonly forMs: number }
  | { readonly do: 'cut'; readonly how: 'end' | 'inside' | 'gone' | 'silence' }
  /** A new life begins with lists from so many revisions before, and keeps them for so long. */
  | { readonly do: 'rewind'; readonly revisions: number; readonly forMs: number }
  /** The vCenter says no, once. */
  | { readonly do: 'fault'; readonly fault: string }
  /** The vCenter takes the task on, and it fails. */
  | { readonly do: 'fail'; readonly fault: string }
  /** The vCenter takes the task on, and it takes so long. */
  | { readonly do: 'slow'; readonly forMs: number }
  /** From this call on none reaches the vCenter, for so long. */
  | { readonly do: 'down'; readonly forMs: number }

export interface Refusing {
  readonly code: 403 | 409 | 429 | 500 | 503 | 504
  /** 0: this request alone. Otherwise all requests like it, or all requests, until then. */
  readonly forMs: number
  readonly scope: 'alike' | 'all'
}

export interface Fault {
  readonly point: Point
  readonly action: Action
}

export interface Plan {
  readonly name: string
  readonly desks: 1 | 2
  /** How long people wait for what they expect before they go on regardless; forever if absent. */
  readonly patienceMs?: number
  readonly faults: readonly Fault[]
}

export const calm = (desks: 1 | 2): Plan => ({ name: 'calm', desks, faults: [] })
