import { decisionIdPattern, decisionPath } from '../core/held-call.ts'
import type { System } from '../core/system.ts'
import type { Decisions } from '../mcp/dependencies.ts'
import type { Store } from '../service/store/engine/store.ts'
import { createPendingDecisions, type DecisionOwner } from '../service/store/pending-decisions.ts'

interface ServedDecisions {
  store: Store
  system: System
  publicUrl: () => string
  owner: DecisionOwner
}

/** How often a call that waits looks whether the person decided. */
const lookEveryMs = 2_000

/** Decisions on the pages of this service, where people sign in. */
export function servedDecisions({ store, system, publicUrl, owner }: ServedDecisions): Decisions {
  const pending = createPendingDecisions(store, system, owner)
  return {
    isLocal: false,
    keep: async (call) => {
      const kept = await pending.keep(call)
      if (kept === undefined) return { refused: tooMany }
      const url = `${publicUrl()}${decisionPath(kept.id)}`
      return { ...kept, url, address: url }
    },
    find: async (id) => (decisionIdPattern.test(id) ? pending.find(id) : undefined),
    wait: async (id, ms, signal) => {
      for (let waitedMs = 0; waitedMs < ms && (await pending.isPending(id)); waitedMs += lookEveryMs) {
        await system.sleep(Math.min(lookEveryMs, ms - waitedMs), signal)
      }
    },
    tryAgain: ({ id, tries }) => pending.tryAgain(id, tries),
    finish: pending.finish,
  }
}

export const tooMany =
  'Too many calls wait for a decision already. Tell the person to decide on those first; call again when they did.'
