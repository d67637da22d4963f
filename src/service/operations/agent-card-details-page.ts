import { newSecret, sha256, timestamp } from '../../core/system.ts'
import type { Handler } from '../request/handler.ts'
import { insertCardPage } from '../store/card-pages.ts'
import { findAgent } from '../store/counterparties.ts'
import { loadCard } from './agent-cards.ts'

/** How long the page's address works, by the service's time. */
const pageLifetimeMs = 10 * 60_000

export const createAgentCardDetailsPage: Handler<'createAgentCardDetailsPage'> = async ({ cardId }, context) => {
  const { tx, system, nowMs, publicUrl } = context
  const card = await loadCard(context, cardId)
  const agent = await findAgent(tx, { id: card.agentId })
  if (agent === undefined) throw new Error(`Bug: the agent of the card ${card.id} is gone.`)
  const token = newSecret(system)
  const expiresAtMs = nowMs + pageLifetimeMs
  await insertCardPage(tx, {
    tokenHash: sha256(token),
    cardId: card.id,
    partyId: card.partyId,
    agentPartyId: agent.partyId,
    createdAtMs: nowMs,
    expiresAtMs,
    shownAtMs: null,
  })
  return {
    type: 'agentCardDetailsPage',
    id: card.id,
    attributes: { url: `${publicUrl()}/cards/${token}`, expiresAt: timestamp(expiresAtMs) },
  }
}
