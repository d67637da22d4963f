import { type FailureOptions, fail } from '../../../core/errors.ts'
import type { ChangeContext } from '../../request/due.ts'
import { agentsWithHandles, renameAgents, slugsOf } from '../../store/agents.ts'
import { areOfOthers, updateParty } from '../../store/parties.ts'
import { areHeld, countHeldHandles, holdNoLonger, releaseHandle } from '../../store/released-handles.ts'
import type { PartyRow } from '../../store/schema/parties.ts'

/** How long a handle that was given up is held for who had it (docs/service.md#handles). */
const heldMs = 14 * 24 * 60 * 60_000
/** Who goes on renaming holds no more names than these for nobody's use. */
const mostHeld = 10

const source = { pointer: '/data/attributes/handle' }

/**
 * Refuses a handle, of a party or of an agent of its, that is another's, is held for another, or begins with the handle
 * of another and a dash: that is what the handles of its agents begin with.
 * @throws 409 `conflict`.
 */
export async function requireFreeHandle(
  { tx, nowMs }: ChangeContext,
  partyId: string,
  handle: string,
  options: FailureOptions,
): Promise<void> {
  await tx.lock(`handle @${handle}`)
  const dashes = [...handle.matchAll(/-/g)].map(({ index }) => index)
  const words = [handle, ...dashes.map((index) => handle.slice(0, index))]
  const taken = await Promise.all([areOfOthers(tx, words, partyId), areHeld(tx, words, { partyId, nowMs })])
  if (taken.includes(true)) fail('conflict', options)
}

/**
 * Gives a party another handle. Those of its agents follow, and the one it had is held for it: it may take it back.
 * @throws 409 `conflict` when the handle, or one of an agent's, is another's.
 */
export async function takeHandle(context: ChangeContext, before: PartyRow, handle: string): Promise<PartyRow> {
  const { tx, nowMs } = context
  const partyId = before.id
  const taken = `The handle @${handle} is taken. Choose another.`
  await requireFreeHandle(context, partyId, handle, { detail: taken, source })
  await holdNoLonger(tx, handle)
  if (before.handle !== null) {
    if ((await countHeldHandles(tx, partyId, nowMs)) >= mostHeld) {
      const detail = `The party gave up ${mostHeld} handles in the last 14 days, as many as are held for it. Take one of these back, or wait.`
      fail('conflict', { detail, source })
    }
    await releaseHandle(tx, { handle: before.handle, partyId, untilMs: nowMs + heldMs }, nowMs)
  }
  await takeHandlesOfAgents(context, partyId, handle)
  return updateParty(tx, before, { handle }, nowMs)
}

async function takeHandlesOfAgents({ tx }: ChangeContext, partyId: string, handle: string): Promise<void> {
  const slugs = await slugsOf(tx, partyId)
  const others = await agentsWithHandles(
    tx,
    slugs.map((slug) => `@${handle}-${slug}`),
  )
  const taken = others.find((agent) => agent.partyId !== partyId)
  if (taken !== undefined) {
    const detail = `The handle ${taken.handle}, which an agent of the party would have, is taken. Choose another.`
    fail('conflict', { detail, source })
  }
  if (slugs.length > 0) await renameAgents(tx, partyId, handle)
}
