// Whether a virtual machine should have an instance now, by its run strategy and by what was asked of it. Pure.
//
//   strategy          no instance                          an instance that ended                one that runs
//   Always            start                                stop it, then start                   stop if asked
//   RerunOnFailure    start if new to this or asked        failed: stop it, then start           stop if asked
//   Manual            start if asked                       stop if asked                         stop if asked
//   Halted            nothing; asked to start: Always      stop                                  stop

import { type Instance, isFinal, type Machine, phaseOf, type RunStrategy, type StateChangeRequest } from '../shapes.ts'

export type Act =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'start' }
  | { readonly kind: 'stop' /** Ask for a start when it is gone. */; readonly isAgain: boolean }
  /** A machine that is halted was asked to start. */
  | { readonly kind: 'switch on' }

const nothing: Act = { kind: 'nothing' }
const start: Act = { kind: 'start' }
const stop: Act = { kind: 'stop', isAgain: false }

/** `running` is the older way to say Always or Halted. */
export function runStrategyOf({ spec }: Machine): RunStrategy {
  const { runStrategy, running } = spec ?? {}
  switch (runStrategy) {
    case 'Always':
    case 'Manual':
    case 'RerunOnFailure':
      return runStrategy
    case undefined:
      return running === true ? 'Always' : 'Halted'
    default:
      return 'Halted'
  }
}

export const requestsOf = ({ status }: Machine): readonly StateChangeRequest[] => status?.stateChangeRequests ?? []

export function decide(machine: Machine, instance: Instance | undefined): Act {
  const strategy = runStrategyOf(machine)
  const requests = requestsOf(machine)
  const isStartAsked = requests.some(({ action }) => action === 'Start')
  if (instance === undefined) {
    switch (strategy) {
      case 'Always':
        return start
      case 'Manual':
        return isStartAsked ? start : nothing
      case 'RerunOnFailure':
        return isStartAsked || machine.status?.runStrategy !== strategy ? start : nothing
      case 'Halted':
        return isStartAsked ? { kind: 'switch on' } : nothing
    }
  }
  const isStopAsked = requests.some(({ action, uid }) => action === 'Stop' && uid === instance.metadata.uid)
  if (isStopAsked || strategy === 'Halted') return stop
  if (strategy === 'Always') return isFinal(instance) ? stop : nothing
  if (strategy === 'RerunOnFailure' && phaseOf(instance) === 'Failed') return { kind: 'stop', isAgain: true }
  return nothing
}

/** Requests that are not fulfilled yet: a stop while its instance is there, a start while none is. */
export function openRequests(machine: Machine, instance: Instance | undefined): readonly StateChangeRequest[] {
  return requestsOf(machine).filter(({ action, uid }) => {
    if (action === 'Stop') return instance !== undefined && uid === instance.metadata.uid
    const isBeingStopped = requestsOf(machine).some(one => one.action === 'Stop' && one.uid === instance?.metadata.uid)
    return instance === undefined || isBeingStopped || isFinal(instance) || instance.metadata.deletionTimestamp != null
  })
}
