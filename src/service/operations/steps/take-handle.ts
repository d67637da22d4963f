import { type FailureOptions, fail } from '../../../core/errors.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import { agentsWithHandles, renameAgents, slugsOf } from '../../store/agents.ts'
import { areHandlesTaken, updateParty } from '../../store/parties.ts'
import { areHandlesReserved, countReservedHandles, releaseHandle, unreserve } from '../../store/released-handles.ts'
import type { PartyRow } from '../../store/schema/parties.ts'

/** The time for which a handle is reserved for the party that gave it up (docs/service.md#handles). */
const heldMs = 14 * 24 * 60 * 60_000
/**
 * The maximum number of handles reserved for one party. It keeps a party from blocking many handles by renaming itself
 * often.
 */
const maxHeld = 10

const source = { pointer: '/data/attributes/handle' }

/**
 * Refuses a handle that belongs to another party or is reserved for one. Also refuses a handle that begins with such a
 * handle and a dash, because the handles of the other party's agents have this form.
 * @throws 409 `conflict` with the given error options.
 */
export async function requireFreeHandle(
  { tx, nowMs }: ChangeContext,
  partyId: string,
  handle: string,
  options: FailureOptions,
): Promise<void> {
  await tx.lock(`handle @${handle}`)
  const dashes = [...handle.matchAll(/-/g)].map(({ index }) => index)
  const prefixes = [handle, ...dashes.map((index) => handle.slice(0, index))]
  const taken = await Promise.all([
    areHandlesTaken(tx, prefixes, partyId),
    areHandlesReserved(tx, prefixes, { partyId, nowMs }),
  ])
  if (taken.includes(true)) fail('conflict', options)
}

/**
 * Changes the handle of a party, and with it the handles of the party's agents. The old handle stays reserved for the
 * party for 14 days, so that the party can take it back.
 * @throws 409 `conflict` if a new handle is taken, or if too many handles are reserved for the party.
 */
export async function takeHandle(context: ChangeContext, before: PartyRow, handle: string): Promise<PartyRow> {
  const { tx, nowMs } = context
  const partyId = before.id
  const taken = `The handle @${handle} is taken. Choose another.`
  await requireFreeHandle(context, partyId, handle, { detail: taken, source })
  await unreserve(tx, handle)
  if (before.handle !== null) {
    if ((await countReservedHandles(tx, partyId, nowMs)) >= maxHeld) {
      const detail = `The party released ${maxHeld} handles in the last 14 days, which is the maximum. Take one of them back, or wait.`
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
    const detail = `An agent of the party would get the handle ${taken.handle}, which is taken. Choose another handle.`
    fail('conflict', { detail, source })
  }
  if (slugs.length > 0) await renameAgents(tx, partyId, handle)
}
