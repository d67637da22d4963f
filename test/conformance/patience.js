// Loaded into the conformance tool: timeouts of up to two seconds become six times as long. A timeout acts by itself,
// for example by hanging up; a plain pause between two steps resolves a promise and stays unchanged.
const { setTimeout: setTimer } = globalThis
const isPause = (callback) => String(callback).includes('[native code]')

globalThis.setTimeout = Object.assign(
  (callback, ms, ...given) => setTimer(callback, ms > 2000 || isPause(callback) ? ms : ms * 6, ...given),
  setTimer,
)
