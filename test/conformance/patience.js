// This script runs in the process of the conformance tool. It makes each timeout of at most two seconds six times as
// long. A timer that only resolves a promise is a pause between two steps, not a timeout, and stays unchanged.
const { setTimeout: setTimer } = globalThis
const isPause = (callback) => String(callback).includes('[native code]')

globalThis.setTimeout = Object.assign(
  (callback, ms, ...args) => setTimer(callback, ms > 2000 || isPause(callback) ? ms : ms * 6, ...args),
  setTimer,
)
