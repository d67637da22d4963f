import { servedDecisions } from '../../src/commands/served-decisions.ts'
import type { System } from '../../src/core/system.ts'
import { NamedTurns } from '../../src/core/turns.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { type Connected, connectHost } from '../mcp/connected.ts'
import { errorOf, type hosts, type ToolResult } from '../mcp/hosts.ts'
import { createPersonSite, type PersonSite } from '../pages/person-site.ts'
import type { TestDatabase } from '../support/databases.ts'
import { addParty, type OtherParty, type World } from '../support/world.ts'

export const address = 'http://127.0.0.1:4010'

/** The confirmation mode in which every payment needs a person's approval. */
export const always = { mode: 'always', aboveCents: 0 } as const

/** A world in which tool calls wait until a person decides about them on a page. */
export interface DecisionWorld {
  site: PersonSite
  world: World
  shop: OtherParty
  /** Returns the balance of the shop's wallet, in cents. */
  shopBalance(): Promise<number>
  /** Connects a host. If `options` contains no person, the host cannot ask anyone. */
  host(chosen: (typeof hosts)[number], options?: HostOptions): Promise<Connected>
  /** Returns the arguments of a payment to the shop. */
  payment(amount: number): object
  /**
   * Opens the page of a decision as a signed-in user, by default the owner, and submits the decision. Returns the HTTP
   * status.
   */
  decide(id: string, decision: 'yes' | 'no', user?: UserRow): Promise<number>
}

type HostOptions = NonNullable<Parameters<typeof connectHost>[2]> & {
  /** A second process on the world's database. If it is given, it serves the host instead of the first process. */
  server?: World
  principalId?: string
  system?: System
}

export async function createDecisionWorld(database: TestDatabase): Promise<DecisionWorld> {
  const site = await createPersonSite(database)
  const { world, owner } = site
  const shop = await addParty(world)
  const turns = new NamedTurns()
  return {
    site,
    world,
    shop,
    shopBalance: async () => {
      const { json } = await world.get('/wallets', { key: shop.apiKey })
      return json.data[0].attributes.balance.total
    },
    host: async (chosen, { server = world, principalId, system = server.system, ...options } = {}) => {
      const key = options.key ?? server.agentKey
      const actor = await server.service.identify(key)
      if (actor === undefined) throw new Error('The key is unknown.')
      const { keyId, partyId } = actor
      const decisions = servedDecisions({
        store: server.store,
        system,
        publicUrl: () => address,
        waits: server.service.waits,
        owner: { partyId, principalId: principalId ?? keyId },
        turns,
      })
      return connectHost(server, chosen.open, {
        key,
        confirm: always,
        publicUrl: address,
        decisions,
        system,
        ...options,
      })
    },
    payment: (amount) => ({ amount, counterparty: { type: 'party_id', value: shop.partyId }, description: 'Paper' }),
    decide: async (id, decision, user = owner) => {
      const visitor = await site.visitor(user)
      await visitor.open(`/decide/${id}`)
      return (await visitor.send(`/decide/${id}`, { decision })).status
    },
  }
}

export interface Pending {
  decision: string
  url: string
  ends: string
  next: string
}

/** Returns the pending decision in a call's result. */
export function pendingOf(result: ToolResult): Pending {
  const error = errorOf(result)
  if (error.code !== 'confirmation_pending') throw new Error(JSON.stringify(error))
  return error as unknown as Pending
}
