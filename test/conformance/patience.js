// The conformance tool loads this file, which makes its timeouts of up to two seconds six times as long. A timeout does
// something, such as hanging up. A plain pause between two steps only resolves a promise, and stays unchanged.
const { setTimeout: setTimer } = globalThis
const isPause = (callback) => String(callback).includes('[native code]')

globalThis.setTimeout = Object.assign(
  (callback, ms, ...given) => setTimer(callback, ms > 2000 || isPause(callback) ? ms : ms * 6, ...given),
  setTimer,
)
