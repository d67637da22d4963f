import type { World } from '../../worlds/schema.ts'
import type { Transaction } from '../store/engine/store.ts'
import type { CredentialRow } from '../store/schema/credentials.ts'

/** The ids in a database that was filled with the package's own world. */
interface OwnIds {
  party: string | undefined
  wallet: string | undefined
  user: string | undefined
  agent: string | undefined
  agentKey: string | undefined
  apiKey: string | undefined
  grant: string | undefined
  customer: string | undefined
  customerWallet: string | undefined
}

/** Finds them: what was made first is the world's, for ids begin with the time. */
export async function idsOfOwnWorld({ db }: Transaction, seeded: readonly CredentialRow[]): Promise<OwnIds> {
  const [apiKey, agentKey] = (['api_key', 'agent_key'] as const).map((kind) => seeded.find((key) => key.kind === kind))
  const first = async (table: 'wallets' | 'users', partyId = '') =>
    (await db.selectFrom(table).select('id').where('partyId', '=', partyId).orderBy('id').limit(1).executeTakeFirst())
      ?.id
  const grants = db.selectFrom('delegations').select(['id', 'customerPartyId'])
  const grant = await grants
    .where('agentId', '=', agentKey?.agentId ?? '')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return {
    party: apiKey?.partyId,
    wallet: await first('wallets', apiKey?.partyId),
    user: await first('users', apiKey?.partyId),
    agent: agentKey?.agentId ?? undefined,
    agentKey: agentKey?.id,
    apiKey: apiKey?.id,
    grant: grant?.id,
    customer: grant?.customerPartyId,
    customerWallet: await first('wallets', grant?.customerPartyId),
  }
}

/** The package's own world with these ids. */
export function withIds({ parties: [own, customer], ...world }: World, ids: OwnIds): World {
  if (own === undefined || customer === undefined) throw new Error("Bug: the package's own world has two parties.")
  const agents = firstOf(own.agents, (agent) => {
    return { ...agent, id: ids.agent, keys: firstOf(agent.keys, (key) => ({ ...key, id: ids.agentKey })) }
  })
  return {
    ...world,
    parties: [
      {
        ...own,
        id: ids.party,
        wallets: firstOf(own.wallets, (wallet) => ({ ...wallet, id: ids.wallet })),
        users: firstOf(own.users, (user) => ({ ...user, id: ids.user })),
        apiKeys: firstOf(own.apiKeys, (key) => ({ ...key, id: ids.apiKey })),
        customers: firstOf(own.customers, (grant) => ({ ...grant, id: ids.grant })),
        agents,
      },
      {
        ...customer,
        id: ids.customer,
        wallets: firstOf(customer.wallets, (wallet) => ({ ...wallet, id: ids.customerWallet })),
      },
    ],
  }
}

function firstOf<Thing>(things: readonly Thing[] | undefined, change: (thing: Thing) => Thing): Thing[] | undefined {
  return things?.map((thing, at) => (at === 0 ? change(thing) : thing))
}
