import type { Log } from '../../src/telemetry/log.ts'

/** For a test that is about something else than what is logged. */
export const silentLog: Log = { debug() {}, info() {}, error() {}, with: () => silentLog }
