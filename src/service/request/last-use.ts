import { keepNewest } from '../../core/bounded-map.ts'
import { noteAgentUse } from '../store/agents.ts'
import { noteKeyUse } from '../store/credentials.ts'
import type { Transaction } from '../store/engine/store.ts'
import { noteGrantUse } from '../store/oauth-grants.ts'

/** A key is written at most this often. */
const intervalMs = 60_000
/** Beyond it the key used the longest ago is forgotten, at the cost of one write when it is used again. */
const mostKeys = 10_000
/** Bounds what one request writes for others. */
const mostPerRequest = 16

interface Use {
  agentId: string | null
  usedAtMs: number
  /** Null: not since the start. */
  writtenAtMs: number | null
}

/** Writes that a request has taken on, to be told what became of its transaction. */
export interface Flush {
  write(tx: Transaction): Promise<void>
  settle(durable: boolean): void
}

/**
 * When each key was last used, kept in memory and written with some request's transaction: reads stay free of writes
 * but for one a minute and key.
 */
export function createLastUses() {
  const uses = new Map<string, Use>()
  /** The keys whose last use is not written. */
  const waiting = new Set<string>()

  return {
    note(keyId: string, agentId: string | null, usedAtMs: number): void {
      const writtenAtMs = uses.get(keyId)?.writtenAtMs ?? null
      waiting.add(keyId)
      const forgotten = keepNewest(uses, keyId, { agentId, usedAtMs, writtenAtMs }, mostKeys)
      if (forgotten !== undefined) waiting.delete(forgotten)
    },

    /** The uses that are due to be written, which no other request then takes on; undefined when none is. */
    take(nowMs: number): Flush | undefined {
      const taken = new Map<string, Use>()
      let looked = 0
      for (const keyId of waiting) {
        if (looked++ === mostPerRequest) break
        const use = uses.get(keyId)
        if (use !== undefined && (use.writtenAtMs === null || nowMs - use.writtenAtMs >= intervalMs)) {
          taken.set(keyId, { ...use })
        }
      }
      if (taken.size === 0) return undefined
      for (const keyId of taken.keys()) waiting.delete(keyId)
      return {
        write: async (tx) => {
          // In one order, so that two requests never wait for each other's rows.
          for (const [keyId, use] of [...taken].sort(([a], [b]) => (a < b ? -1 : 1))) {
            await (keyId.startsWith('ogr_') ? noteGrantUse : noteKeyUse)(tx, keyId, use.usedAtMs)
            if (use.agentId !== null) await noteAgentUse(tx, use.agentId, use.usedAtMs)
          }
        },
        settle: (durable) => {
          for (const keyId of taken.keys()) {
            const use = uses.get(keyId)
            if (use !== undefined && durable) use.writtenAtMs = nowMs
            if (use !== undefined && !durable) waiting.add(keyId)
          }
        },
      }
    },

    /** The last use of a key, also where it is not written yet. */
    of(keyId: string, writtenMs: number | null): number | null {
      const usedAtMs = uses.get(keyId)?.usedAtMs
      return usedAtMs === undefined || (writtenMs !== null && writtenMs > usedAtMs) ? writtenMs : usedAtMs
    },
  }
}

export type LastUses = ReturnType<typeof createLastUses>
