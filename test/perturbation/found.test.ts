// What the perturbations have found, each as the smallest plan that shows it.

import { beforeAll, expect, test } from 'vitest'
import { scenarios } from '../scenarios/all.ts'
import type { Fault, Plan } from './plan.ts'
import { run } from './run.ts'
import { newborn } from './server.ts'

beforeAll(newborn)

interface Found {
  readonly what: string
  readonly scenario: string
  readonly seed?: number
  readonly plan: Omit<Plan, 'name'>
}

const eventsLate = (kind: string, nth: number, forMs = 25_000): Fault => ({
  point: { at: 'event', actor: 'B', kind, nth },
  action: { do: 'hold', kinds: [kind], forMs },
})

const spoilt = 'S37: a migration network with addresses of Mooring changes, a node joins, and a user spoils it'

const found: readonly Found[] = [
  {
    what: 'a desk that begins on an old list serves a claim whose hold it made before, although it releases another first',
    scenario: 'a race for the last address',
    plan: {
      desks: 1,
      faults: [{ point: { at: 'event', actor: 'A', nth: 14 }, action: { do: 'rewind', revisions: 4, forMs: 15_000 } }],
    },
  },
  {
    what: 'a desk without the event that a claim is gone does not take its hold back for ever',
    scenario: 'an address goes from one claim to another, after a rest',
    plan: { desks: 2, faults: [eventsLate('ipaddressclaims', 2)] },
  },
  {
    what: 'a desk without the event that an address was given on does not deny it to the claim that has it',
    scenario: 'a race for the last address',
    plan: { desks: 2, patienceMs: 3_000, faults: [eventsLate('holds', 1)] },
  },
  {
    what: 'an address that was only about to be taken is counted as free again when its claim went meanwhile',
    scenario: 'a machine wants an address of each family, and one pool is full',
    plan: {
      desks: 1,
      patienceMs: 3_000,
      faults: [{ point: { at: 'write', actor: 'A', nth: 1 }, action: { do: 'delay', what: 'answer', forMs: 20_000 } }],
    },
  },
  {
    what: 'a desk without the event that a namespace lost its label gives it nothing',
    scenario: 'a pool is shared with a namespace, then no longer',
    plan: {
      desks: 2,
      faults: [
        {
          point: { at: 'event', actor: 'A', kind: 'namespaces', nth: 1 },
          action: { do: 'drop', relistAfterMs: 60_000 },
        },
      ],
    },
  },
  {
    what: 'a desk without the event that a Machine is gone does not protect its claims again and again',
    scenario: 'S34: a Machine with several addresses waits for a full pool, and is deleted before it has them all',
    plan: { desks: 2, patienceMs: 3_000, faults: [eventsLate('machines', 6)] },
  },
  {
    what: 'a desk without the events of pods does not let go of the MAC that one of them runs with',
    scenario: 'S22: an instance has another MAC plugged in while it runs, and goes back to the former one',
    plan: {
      desks: 2,
      patienceMs: 3_000,
      faults: [
        {
          point: { at: 'event', actor: 'A', kind: 'pods', nth: 1 },
          action: { do: 'hold', kinds: ['pods'], forMs: 25_000 },
        },
      ],
    },
  },
  {
    what: 'a machine that waits for a MAC in use does not keep its former one from others for ever',
    scenario: 'S22: a machine that waits for a MAC in use gives up its own once it is stopped',
    plan: { desks: 1, faults: [] },
  },
  {
    what: 'a desk that is late does not let go of the MAC that a machine asks for again',
    scenario: 'S22: an instance has another MAC plugged in while it runs, and goes back to the former one',
    plan: {
      desks: 1,
      patienceMs: 3_000,
      faults: [{ point: { at: 'event', actor: 'A', nth: 1 }, action: { do: 'hold', kinds: 'all', forMs: 25_000 } }],
    },
  },
  {
    what: 'a desk without the event that a claim asks for another MAC does not undo again and again what the other does',
    scenario: 'S22: an instance has another MAC plugged in while it runs, and goes back to the former one',
    plan: {
      desks: 2,
      faults: [{ point: { at: 'event', actor: 'B', nth: 15 }, action: { do: 'drop', relistAfterMs: 60_000 } }],
    },
  },
  {
    what: 'a desk without the event that a MAC is held does not try to take it again and again',
    scenario: 'S22: a machine that waits for a MAC in use gives up its own once it is stopped',
    plan: {
      desks: 2,
      faults: [{ point: { at: 'event', actor: 'B', nth: 6 }, action: { do: 'drop', relistAfterMs: 60_000 } }],
    },
  },
  {
    what: 'a former MAC is let go of although the API server refused it once',
    scenario: 'S22: a machine that waits for a MAC in use gives up its own once it is stopped',
    plan: {
      desks: 1,
      faults: [
        {
          point: { at: 'write', actor: 'A', kind: 'macholds', nth: 3 },
          action: { do: 'refuse', refusal: { code: 409, forMs: 20_000, scope: 'alike' } },
        },
      ],
    },
  },
  {
    what: 'a node that was never told of a pod lets go of its claim when the pod has gone',
    scenario: 'S60: a machine stops and starts on another node with one claim, and pods take turns with one address',
    plan: {
      desks: 1,
      faults: [
        { point: { at: 'event', actor: 'A', kind: 'pods', nth: 18 }, action: { do: 'drop', relistAfterMs: 60_000 } },
      ],
    },
  },
  {
    what: 'a claim that looks at an address just before it is free, and sleeps just after, is woken',
    scenario: 'S21: two machines ask for one address',
    plan: { desks: 1, faults: [] },
  },
  {
    what: 'a pod whose machine was orphaned is not told late of an address that another machine has by then',
    scenario: 'S36: a machine is deleted with the orphan policy while it runs, and another waits for its addresses',
    plan: {
      desks: 1,
      patienceMs: 3_000,
      faults: [
        {
          point: { at: 'write', actor: 'A', kind: 'pods/status', nth: 1 },
          action: { do: 'delay', what: 'request', forMs: 45_000 },
        },
      ],
    },
  },
  {
    what: 'a migration desk that stood still does not name to KubeVirt a network that another removed meanwhile',
    scenario: 'S37: a migration network is set, changed, and taken back',
    plan: {
      desks: 2,
      faults: [
        { point: { at: 'write', actor: 'A', kind: 'kubevirts', nth: 1 }, action: { do: 'freeze', forMs: 45_000 } },
      ],
    },
  },
  {
    what: 'a migration desk without the event that a user spoilt KubeVirt does not say that all is configured',
    scenario: spoilt,
    plan: {
      desks: 2,
      faults: [
        {
          point: { at: 'event', actor: 'A', kind: 'kubevirts', nth: 7 },
          action: { do: 'drop', relistAfterMs: 60_000 },
        },
      ],
    },
  },
  {
    what: 'an address of a node on a network that is gone rests although its hold changed just then',
    scenario: spoilt,
    plan: {
      desks: 1,
      faults: [
        {
          point: { at: 'write', actor: 'A', kind: 'holds', nth: 7 },
          action: { do: 'refuse', refusal: { code: 409, forMs: 20_000, scope: 'alike' } },
        },
      ],
    },
  },
]

test.each(found.map(one => [one.what, one] as const))('%s', async (what, { scenario: name, seed = 0, plan }) => {
  const scenario = scenarios.find(one => one.name === name)
  if (scenario === undefined) throw new Error(`there is no scenario called ${name}`)
  const { violations } = await run({ scenario, seed, plan: { name: what, ...plan } })
  expect(violations).toEqual([])
})
