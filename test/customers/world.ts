import { type Answer, addAgent, addParty, type OtherParty, type Sent, type World } from '../support/world.ts'

/** The fields that a test can choose for an invitation. Omitted fields get defaults. */
export interface InvitationFields {
  recipient?: { type: 'email' | 'phone' | 'party_id'; value: string }
  agentId?: string
  permissions?: readonly string[]
  limits?: object | null
  expiresAt?: string
}

/** The seeded organization with two agents, another organization, and functions that send and read invitations. */
export interface Inviters {
  partyId: string
  agentId: string
  second: { agentId: string; agentKey: string }
  other: OtherParty
  invite(fields?: InvitationFields, sent?: Sent): Promise<Answer>
  /** Sends an invitation, and returns its id and URL. */
  pending(fields?: InvitationFields, sent?: Sent): Promise<{ id: string; url: string }>
  /** Returns the stored row of an invitation. */
  read(id: string): Promise<Record<string, unknown>>
}

let people = 0

/** Returns an unused email address. */
export function person(): { type: 'email'; value: string } {
  return { type: 'email', value: `person${people++}@example.com` }
}

export async function inviters(world: World): Promise<Inviters> {
  const { partyId, agentId } = await world.whoami()
  const walletId = (await world.get('/wallets')).json.data[0].id as string
  const second = await addAgent(world, partyId, walletId, [])
  const other = await addParty(world)
  if (agentId === null) throw new Error('The seeded key is not an agent key.')
  const invite: Inviters['invite'] = (fields = {}, sent = {}) => {
    const { recipient = person(), permissions = ['payments.read'], expiresAt, ...agent } = fields
    const agents = [{ agentId, permissions, ...agent }]
    const attributes = { recipients: [recipient], agents, ...(expiresAt === undefined ? {} : { expiresAt }) }
    return world.post('/customers/invitations', attributes, { key: world.apiKey, idempotencyKey: null, ...sent })
  }
  const pending: Inviters['pending'] = async (fields, sent) => {
    const answer = await invite(fields, sent)
    const [first] = answer.json.data ?? []
    if (first === undefined) throw new Error(answer.text)
    return { id: first.id, url: first.attributes.url }
  }
  const read: Inviters['read'] = async (id) => {
    const row = await world.store.transaction((tx) =>
      tx.db.selectFrom('customerInvitations').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    )
    return { ...row }
  }
  return { partyId, agentId, second, other, invite, pending, read }
}
