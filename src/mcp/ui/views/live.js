/** The consecutive reads without a change, and the consecutive failures, after which polling stops. */
const maxIdlePolls = 300
const maxFailures = 3

/**
 * Polls while the view is visible and something can still change.
 * @param {object} options
 * @param {() => Promise<boolean>} options.reload reads once and returns whether something changed
 * @param {() => number | undefined} options.pauseMs the time until the next read; undefined if nothing can change
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
      // The next read may succeed. After too many failures the view says that it is no longer live.
      failures++
    }
  }

  return {
    /** Restarts polling after activity. */
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
