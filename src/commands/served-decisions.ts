import { decisionIdPattern, decisionPath, tooManyHeld } from '../core/held-call.ts'
import type { System } from '../core/system.ts'
import type { NamedTurns } from '../core/turns.ts'
import type { Decisions } from '../mcp/dependencies.ts'
import type { Service } from '../service/service.ts'
import type { Store } from '../service/store/engine/store.ts'
import { createPendingDecisions, type DecisionOwner } from '../service/store/pending-decisions.ts'

interface ServedDecisions {
  store: Store
  system: System
  publicUrl: () => string
  /** Wakes a waiting call when the person has decided, whichever process recorded the decision. */
  waits: Service['waits']
  owner: DecisionOwner
  /** The queues of this process, one for each decision. Calls with the same decision run one after another. */
  turns: NamedTurns
}

/** Creates the `Decisions` of `serve`. People sign in at `serve` and decide on its pages. */
export function servedDecisions({ store, system, publicUrl, waits, owner, turns }: ServedDecisions): Decisions {
  const pending = createPendingDecisions(store, system, owner)
  return {
    isLocal: false,
    keep: async (call) => {
      const page = await pending.keep(call)
      if (page === undefined) return { refused: tooManyHeld }
      const url = `${publicUrl()}${decisionPath(page.id)}`
      return { ...page, url, address: url }
    },
    find: async (id) => (decisionIdPattern.test(id) ? pending.find(id) : undefined),
    wait: async (id, ms, signal) => {
      const { partyId, principalId: keyId } = owner
      const wait = await waits.begin({ resourceId: id, partyId, keyId })
      if (wait === undefined) return
      const finished = new AbortController()
      try {
        // Starts to wait before reading the status, so that a decision between these two steps is not missed.
        const woken = wait.next()
        if (!(await pending.isPending(id))) return
        await Promise.race([woken, system.sleep(ms, AbortSignal.any([finished.signal, signal]))])
      } finally {
        finished.abort()
        waits.end(wait)
      }
    },
    countTry: ({ id, tries }) => pending.countTry(id, tries),
    finish: pending.finish,
    inTurn: (id, call) => turns.take(id, call),
  }
}
