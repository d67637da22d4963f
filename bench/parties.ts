import { delegable } from '../src/core/permissions.ts'
import { newId, newSecret, realSystem, sha256 } from '../src/core/system.ts'
import { createAgent } from '../src/service/store/agents.ts'
import { createCredential } from '../src/service/store/credentials.ts'
import { createParty } from '../src/service/store/parties.ts'
import { credentialPrefix } from '../src/service/tokens/secrets.ts'
import type { Sandbox } from './sandbox.ts'

/** An organization whose one agent pays with cards from its one wallet. */
export interface Buyer {
  partyId: string
  agentId: string
  /** The agent's key. */
  key: string
}

const manyCents = 1_000_000_000

/** Makes organizations in the store itself: no operation makes one with an agent and its key at once. */
export async function makeBuyers({ store }: Sandbox, count: number): Promise<Buyer[]> {
  const buyers: Buyer[] = []
  for (let made = 0; made < count; made++) buyers.push(await store.transaction((tx) => makeBuyer(tx)))
  return buyers
}

async function makeBuyer(tx: Parameters<typeof createParty>[0]): Promise<Buyer> {
  const nowMs = realSystem.now()
  const id = (prefix: string) => newId(prefix, realSystem, nowMs)
  const buyer = { partyId: id('pty'), agentId: id('agt') }
  const party = { id: buyer.partyId, partyType: 'ORG', displayName: 'Buyer', email: null } as const
  const made = { issuedCardsEnabled: 1, createdAtMs: nowMs } as const
  const wallet = await createParty(tx, realSystem, { ...party, ...made }, manyCents)
  const agent = { id: buyer.agentId, partyId: buyer.partyId, name: 'Shopper', createdBy: null }
  await createAgent({ tx, system: realSystem, nowMs }, agent, wallet.id, delegable)
  const key = `${credentialPrefix('agent_key', 'sandbox')}${newSecret(realSystem)}`
  const ending = { revokedAtMs: null, expiresAtMs: null, createdAtMs: nowMs }
  const kind = { kind: 'agent_key', name: null, scopes: null, displayPrefix: '', seeded: 0 } as const
  await createCredential(tx, { ...buyer, id: id('agk'), ...kind, secretHash: sha256(key), ...ending })
  return { ...buyer, key }
}

/** Unused cards of the agent whose key it is: one that it was issued, and so many copies. */
export async function makeCards({ store, issueCard }: Sandbox, count: number, key?: string): Promise<string[]> {
  const issued = await issueCard(key)
  const cards: string[] = []
  while (cards.length < count) {
    cards.push(
      ...(await store.transaction(async ({ db }) => {
        const row = await db.selectFrom('agentCards').selectAll().where('id', '=', issued).executeTakeFirstOrThrow()
        const rows = Array.from({ length: Math.min(500, count - cards.length) }, () => {
          return { ...row, id: newId('pcd', realSystem, row.createdAtMs) }
        })
        await db.insertInto('agentCards').values(rows).execute()
        return rows.map(({ id }) => id)
      })),
    )
  }
  return cards
}
