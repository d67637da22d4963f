import type { ServerContext } from '@modelcontextprotocol/server'
import type { AttemptProgress } from '../../client/retry.ts'
import type { Dependencies } from '../dependencies.ts'
import type { AskedState } from '../people/elicitation.ts'

/** The progress reports that a call sends to its host. */
interface Progress {
  /** Reports an attempt to send the request to the API; undefined if the host requested no progress. */
  attempt: ((progress: AttemptProgress) => void) | undefined
  /** Reports regularly that the call still waits, until `seconds` have passed or the returned function is called. */
  whileWaiting(seconds: unknown): () => void
}

/** Many hosts abandon a call after a minute of silence, so a waiting call reports several times a minute. */
const reportIntervalSeconds = 10
/** How many progress numbers are reserved for each round of asking the person. No round sends that many reports. */
const progressPerRound = 1_000

export function progressOf(context: ServerContext, { log, system }: Pick<Dependencies, 'log' | 'system'>): Progress {
  const { mcpReq } = context
  const { _meta, signal } = mcpReq
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return { attempt: undefined, whileWaiting: () => () => {} }
  // After the person was sent to a page, this function may run again for the same request. Progress must then not start
  // again at 0.
  let progress = (mcpReq.requestState<Partial<AskedState>>()?.round ?? 0) * progressPerRound
  const report = (message: string) => {
    if (signal.aborted) return
    progress++
    const params = { progressToken, progress, message }
    mcpReq
      .notify({ method: 'notifications/progress', params })
      .catch((error: unknown) => log.warn({ err: error }, 'progress not delivered'))
  }
  const reportWaiting = async (seconds: number, over: AbortSignal) => {
    for (let elapsed = reportIntervalSeconds; elapsed < seconds; elapsed += reportIntervalSeconds) {
      await system.sleep(reportIntervalSeconds * 1000, over)
      report(`still waiting for a change after ${elapsed} s`)
    }
  }
  return {
    attempt: (attempt) => report(messageOf(attempt)),
    whileWaiting: (seconds) => {
      const over = new AbortController()
      if (seconds !== undefined) reportWaiting(Number(seconds), over.signal).catch(() => {})
      return () => over.abort()
    },
  }
}

function messageOf({ attempt, maximumAttempts, waitMs, reason }: AttemptProgress): string {
  const attemptText = `attempt ${attempt} of ${maximumAttempts}`
  if (attempt === 1) return 'asking the payments API'
  return waitMs === 0 ? attemptText : `${reason}; waiting ${(waitMs / 1000).toFixed(1)} s for ${attemptText}`
}
