import type { z } from 'zod'
import {
  maxSnapshotCharacters,
  maxSnapshots,
  type SandboxSnapshot,
  type sandboxSnapshots,
} from '../../../tools/sandbox-snapshots.ts'
import { fail } from '../../core/errors.ts'
import { timestamp } from '../../core/system.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { beginEpoch, readTimes } from '../store/clock.ts'
import { resetFaults } from '../store/faults.ts'
import type { SnapshotRow } from '../store/schema/snapshots.ts'
import {
  deleteSnapshot,
  findSnapshot,
  initialSnapshotName,
  listSnapshots,
  restoreSnapshot,
  saveSnapshot,
  snapshotTotals,
} from '../store/snapshots.ts'
import { failPendingDeliveries } from '../store/webhook-deliveries.ts'
import { skipCurrentEvents } from '../store/webhooks.ts'
import { findWorld } from '../store/world.ts'

export const sandboxSnapshotHandlers = {
  resetSandbox: async (_input, context) => {
    const { tx } = context
    const filled = await findSnapshot(tx, initialSnapshotName)
    if (filled === undefined) throw new Error('Bug: the initial world was not saved for resets.')
    await restoreSnapshot(tx, filled)
    const world = await findWorld(tx)
    return startWorld(context, null, world?.startsAtMs ?? null)
  },

  saveSandbox: async ({ name }, { tx, system, nowMs }) => {
    const { realNowMs: savedAtMs } = await readTimes(tx)
    const saved = await saveSnapshot(tx, system, { name, clockMs: nowMs, savedAtMs })
    const { count, characters } = await snapshotTotals(tx)
    if (count > maxSnapshots) throwFull(`There are already ${maxSnapshots} snapshots, the most allowed.`)
    if (characters > maxSnapshotCharacters) {
      throwFull(
        `With this snapshot (${megabytes(saved.characters)} MiB), all snapshots would take ${megabytes(characters)} MiB; the most allowed is ${megabytes(maxSnapshotCharacters)} MiB.`,
      )
    }
    return snapshotView(saved)
  },

  listSandboxSnapshots: async (input, { tx }) => {
    const list = { list: 'sandboxSnapshots' }
    return page(await listSnapshots(tx, pageRequest(input, list)), list, snapshotView)
  },

  restoreSandbox: async ({ name }, context) => {
    const snapshot = await loadSnapshot(context, name)
    await restoreSnapshot(context.tx, snapshot)
    return startWorld(context, name, snapshot.clockMs)
  },

  deleteSandboxSnapshot: async ({ name }, context) => {
    const snapshot = await loadSnapshot(context, name)
    await deleteSnapshot(context.tx, snapshot.id)
    return { data: snapshotView(snapshot), meta: { deleted: true } as const }
  },
} satisfies HandlersOf<typeof sandboxSnapshots>

/**
 * Begins a new epoch for the restored world. The sandbox clock then starts at `startsAtMs`, or at real time if
 * `startsAtMs` is null. Fault rules that operations set are removed.
 */
async function startWorld({ tx, afterCommit }: Context, snapshot: string | null, startsAtMs: number | null) {
  await resetFaults(tx)
  const { nowMs, realNowMs } = await beginEpoch(tx, startsAtMs)
  await failPendingDeliveries(tx, {
    nowMs: realNowMs,
    lastError: 'The sandbox was reset or restored before the delivery.',
  })
  await skipCurrentEvents(tx)
  afterCommit.timeMoved = true
  return { type: 'sandbox' as const, id: 'sandbox' as const, attributes: { now: timestamp(nowMs), snapshot } }
}

async function loadSnapshot({ tx }: Context, name: string): Promise<SnapshotRow> {
  const snapshot = await findSnapshot(tx, name)
  if (snapshot === undefined) {
    fail('not_found', { detail: `There is no snapshot ${name}. list_sandbox_snapshots lists all snapshots.` })
  }
  return snapshot
}

function throwFull(problem: string): never {
  fail('conflict', {
    detail: `${problem} Delete one with delete_sandbox_snapshot, then save again. Nothing was saved.`,
  })
}

const megabytes = (characters: number) => Math.ceil(characters / 1024 / 1024)

function snapshotView({ id, name, clockMs, savedAtMs, characters }: SnapshotRow): z.output<typeof SandboxSnapshot> {
  const attributes = { name, now: timestamp(clockMs ?? savedAtMs), savedAt: timestamp(savedAtMs), size: characters }
  return { type: 'sandboxSnapshot', id, attributes }
}
