/** Polling stops after this many reads without a change. */
const maxIdlePolls = 300
/** Polling stops after this many failures in a row. */
const maxFailures = 3

/**
 * Creates a poller, which reads the resource at intervals while the view is visible and something can still change.
 * @param {object} options
 * @param {() => Promise<boolean>} options.reload reads once and returns whether something changed
 * @param {() => number | undefined} options.pauseMs the pause before the next read; undefined to stop reading
 * @param {(state: 'live' | 'paused' | 'final') => void} options.onState
 */
export function createPoller({ reload, pauseMs, onState }) {
  let visible = true
  let ended = false
  let idle = 0
  let failures = 0
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer

  new IntersectionObserver(([entry]) => {
    visible = entry?.isIntersecting ?? true
  }).observe(document.body)

  function schedule() {
    clearTimeout(timer)
    const ms = pauseMs()
    if (ended || ms === undefined) return onState('final')
    if (idle >= maxIdlePolls || failures >= maxFailures) return onState('paused')
    onState('live')
    timer = setTimeout(next, ms)
  }

  async function next() {
    if (visible && document.visibilityState === 'visible') await poll()
    schedule()
  }

  async function poll() {
    try {
      idle = (await reload()) ? 0 : idle + 1
      failures = 0
    } catch {
      // The next read may succeed. After too many failures, polling stops, and the view says so.
      failures++
    }
  }

  return {
    /** Starts polling, or restarts it after an action or a new result. */
    start() {
      idle = 0
      failures = 0
      schedule()
    },
    end() {
      ended = true
      clearTimeout(timer)
    },
  }
}
