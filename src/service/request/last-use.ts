import { keepNewest } from '../../core/bounded-map.ts'
import { noteAgentUse } from '../store/agents.ts'
import { readTimes, type Times } from '../store/clock.ts'
import { noteKeyUse } from '../store/credentials.ts'
import type { Store, Transaction } from '../store/engine/store.ts'
import { noteGrantUse } from '../store/oauth-grants.ts'
import type { Actor } from './permission-checks.ts'

/** How long to wait before a key's last use is written again. */
const intervalMs = 60_000
/** The maximum number of keys in memory. If there are more, the key that has been unused for longest is dropped. */
const maxKeys = 10_000
/** The maximum number of uses written at the same time. */
const maxConcurrent = 64

type KeyUser = Pick<Actor, 'keyId' | 'agentId' | 'partyId'>

interface Use extends KeyUser {
  usedAtMs: number
  /** The time of the last use that this process wrote for the key; null if it has written none. */
  writtenAtMs: number | null
}

/**
 * Keeps the last use of each key in memory until the upkeep writes it. So a request that only reads needs no write, and
 * each key causes at most one write per minute. When the process ends, the uses in the process's last minute may be
 * lost.
 */
export function createLastUses() {
  const uses = new Map<string, Use>()
  /** The keys whose last use is not written yet. */
  const waiting = new Set<string>()
  const agentUses = new Map<string, number>()
  let currentEpoch = 0
  /**
   * Returns whether the epoch is the current one. A later epoch becomes the current one and clears all uses. It belongs
   * to a new world, and keys of the new world may have the same ids.
   */
  const isCurrent = (epoch: number) => {
    if (epoch > currentEpoch) {
      for (const cache of [uses, waiting, agentUses]) cache.clear()
      currentEpoch = epoch
    }
    return epoch === currentEpoch
  }

  return {
    note({ keyId, agentId, partyId }: KeyUser, { nowMs: usedAtMs, epoch }: Pick<Times, 'nowMs' | 'epoch'>): void {
      if (!isCurrent(epoch)) return
      const writtenAtMs = uses.get(keyId)?.writtenAtMs ?? null
      waiting.add(keyId)
      const forgotten = keepNewest(uses, keyId, { keyId, agentId, partyId, usedAtMs, writtenAtMs }, maxKeys)
      if (forgotten !== undefined) waiting.delete(forgotten)
      if (agentId !== null) keepNewest(agentUses, agentId, usedAtMs, maxKeys)
    },

    /**
     * Writes the last use of each waiting key, up to `maxConcurrent` keys. Skips keys for which a use was written
     * within the last minute. The next call repeats failed writes.
     */
    async write(store: Store): Promise<void> {
      if (waiting.size === 0) return
      const { nowMs, epoch } = await store.read(readTimes)
      if (!isCurrent(epoch)) return
      const due = [...waiting]
        .flatMap((keyId) => uses.get(keyId) ?? [])
        .filter(({ writtenAtMs }) => writtenAtMs === null || nowMs - writtenAtMs >= intervalMs)
        .slice(0, maxConcurrent)
      for (const { keyId } of due) waiting.delete(keyId)
      const outcomes = await Promise.allSettled(
        due.map((use) => {
          const write = (tx: Transaction) => writeUse(tx, use, epoch)
          return store.transaction(write, { partyId: use.partyId, kind: 'note_last_use' })
        }),
      )
      for (const [index, { status }] of outcomes.entries()) {
        const use = due[index]
        const now = use && uses.get(use.keyId)
        if (use === undefined || now === undefined) continue
        if (status === 'fulfilled') now.writtenAtMs = use.usedAtMs
        else waiting.add(use.keyId)
      }
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    },

    /** Returns when a key was last used, whether or not that use has been written. */
    forKey(keyId: string, writtenMs: number | null): number | null {
      return laterOf(uses.get(keyId)?.usedAtMs, writtenMs)
    },

    /** Returns when any key of an agent was last used, whether or not that use has been written. */
    forAgent(agentId: string, writtenMs: number | null): number | null {
      return laterOf(agentUses.get(agentId), writtenMs)
    },
  }
}

function laterOf(usedAtMs: number | undefined, writtenMs: number | null): number | null {
  return usedAtMs === undefined || (writtenMs !== null && writtenMs > usedAtMs) ? writtenMs : usedAtMs
}

/** Writes a use under the party's lock, so that writers of several rows of the party cannot deadlock. */
async function writeUse(tx: Transaction, { keyId, agentId, partyId, usedAtMs }: Use, epoch: number): Promise<void> {
  await tx.lockParty(partyId)
  if ((await tx.shared(readTimes)).epoch !== epoch) return
  await (keyId.startsWith('ogr_') ? noteGrantUse : noteKeyUse)(tx, keyId, usedAtMs)
  if (agentId !== null) await noteAgentUse(tx, agentId, usedAtMs)
}

export type LastUses = ReturnType<typeof createLastUses>
