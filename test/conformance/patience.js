// The conformance tool loads this file, which multiplies its timeouts of up to two seconds by six. A timeout runs a
// callback, such as hanging up. A pause between two steps only resolves a promise, and its duration stays unchanged.
const { setTimeout: setTimer } = globalThis
const isPause = (callback) => String(callback).includes('[native code]')

globalThis.setTimeout = Object.assign(
  (callback, ms, ...given) => setTimer(callback, ms > 2000 || isPause(callback) ? ms : ms * 6, ...given),
  setTimer,
)
