import { createPendingDecisions } from '../../src/service/store/pending-decisions.ts'
import { approvalPagePath } from '../../tools/approvals.ts'
import { addGrant } from '../isolation/places.ts'
import { createPersonSite, type PersonSite } from '../pages/person-site.ts'
import type { TestDatabase } from '../support/databases.ts'
import { type Answer, addParty, type Sent, type World } from '../support/world.ts'

type Link =
  | 'checkout'
  | 'manage'
  | 'invitation'
  | 'invitationLink'
  | 'claim'
  | 'card'
  | 'challenge'
  | 'shopCheckout'
  | 'shopOrder'
  | 'paymentRequest'
  | 'partyInvitation'

/** The records of the sandbox's owner and its agent, with the secrets that open them. */
export interface Grounds {
  site: PersonSite
  /** The links that open a page without signing in, by page. Each ends with its secret. */
  links: Record<Link, string>
  /** The addresses of pages for signed-in users. */
  paths: Record<'approval' | 'connection' | 'decision', string>
  clientSecret: string
  /** Ids, names and addresses that only the owner may see. */
  private: string[]
  stranger: Awaited<ReturnType<PersonSite['addUser']>>
}

/** An amount above which a user needs a second factor to approve. */
const largeCents = 60_000

export async function doorGrounds(database: TestDatabase): Promise<Grounds> {
  const site = await createPersonSite(database)
  const { world, owner } = site
  const key = world.apiKey
  const dataOf = (answer: Answer) => {
    if (answer.status >= 300) throw new Error(answer.text)
    return answer.json.data
  }
  const post = async (path: string, attributes: unknown, sent: Sent = {}) =>
    dataOf(await world.post(path, attributes, { key, ...sent }))
  const { agentId } = await world.whoami()
  const terms = { description: 'A private gym', every: { unit: 'month', count: 1 }, amount: 1000, taxAmount: 0 }
  const pending = await post('/subscriptions', terms)
  const paid = await post('/subscriptions', terms)
  const pay = await world.service.fetch(
    new Request('http://127.0.0.1:4010/checkout/pay', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        data: {
          attributes: {
            clientSecret: paid.attributes.clientSecret,
            payerKey: 'k'.repeat(43),
            number: '4242424242424242',
            expiry: '12/34',
            cvv: '123',
          },
        },
      }),
    }),
  )
  const { data: receipt } = (await pay.json()) as { data: { attributes: { manageToken: string } } }
  const invited = { recipients: [{ type: 'email', value: 'private@example.com' }] }
  const permissions = ['payments.read']
  const [invitation] = await post('/customers/invitations', { ...invited, agents: [{ agentId, permissions }] })
  const link = await post('/customers/invitation-links', {
    name: 'Private',
    proposedAgents: [{ agentId, permissions }],
  })
  const claim = await post('/payments', {
    amount: 700,
    currency: 'USD',
    counterparty: { type: 'email', value: 'private@example.com' },
  })
  const request = await post('/payment-requests', {
    amount: 900,
    payer: { type: 'email', value: 'private@example.com' },
  })
  const joining = { invitations: [{ email: 'private@example.com', role: 'MEMBER' }] }
  const [member] = await post('/party-invitations', joining)
  const cardId = await world.issueCard({ merchant: { name: 'A private shop' } })
  const card = await post(`/agent-cards/${cardId}/details-page`, {}, { key: world.agentKey })
  const { shopCheckout, shopOrder } = await startShopCheckouts(world)
  await world.store.transaction(async ({ db }) => {
    await db
      .updateTable('parties')
      .set({ limits: JSON.stringify({ perTransaction: 100 }) })
      .where('id', '=', owner.partyId)
      .execute()
  })
  const other = await addParty(world)
  const counterparty = { type: 'party_id', value: other.partyId }
  const payment = await post('/payments', { amount: largeCents, currency: 'USD', counterparty })
  const approvals = dataOf(await world.get('/approvals?limit=100', { key }))
  const approval = approvals.find(
    (one: { attributes: { target: { id: string } } }) => one.attributes.target.id === payment.id,
  )
  const visitor = await site.visitor(owner)
  const page = approvalPagePath(approval.id)
  await visitor.open(page)
  const challenged = await visitor.send(page, { decision: 'approve' })
  const { grantId } = await addGrant(world, {
    partyId: owner.partyId,
    userId: owner.id,
    agentId,
    scopes: ['payments:read'],
  })
  const held = {
    tool: 'create_payment',
    arguments: {},
    of: '',
    facts: ['Pay a private shop'],
    effect: '',
    tick: 'Yes',
  }
  const { keyId: principalId } = await world.whoami()
  const decisions = createPendingDecisions(world.store, world.system, { partyId: owner.partyId, principalId })
  const decision = await decisions.keep({ ...held, spends: true })
  const stranger = await site.addUser({ partyId: other.partyId, role: 'OWNER', name: 'A stranger' })
  // The first request for metadata creates the keys that sign tokens.
  await world.service.fetch(new Request('http://127.0.0.1:4010/oauth/jwks'))
  const path = (url: string) => new URL(url, 'http://127.0.0.1:4010').pathname
  return {
    site,
    stranger,
    clientSecret: pending.attributes.clientSecret,
    links: {
      checkout: path(pending.attributes.checkoutUrl),
      manage: `/checkout/manage/${receipt.attributes.manageToken}`,
      invitation: path(invitation.attributes.url),
      invitationLink: path(link.attributes.url),
      claim: path(claim.attributes.claimLink),
      paymentRequest: path(request.attributes.paymentLinkUrl),
      partyInvitation: path(member.attributes.url),
      card: path(card.attributes.url),
      challenge: path(String(challenged.location)),
      shopCheckout: path(shopCheckout),
      shopOrder: path(shopOrder).replace('/checkouts/', '/orders/'),
    },
    paths: { approval: page, decision: `/decide/${decision?.id}`, connection: `/connections/${grantId}` },
    private: [
      owner.email,
      'Pay a private shop',
      'A private gym',
      'A private shop',
      'private@example.com',
      grantId,
      String(agentId),
    ],
  }
}

/** Starts two checkouts at a shop as the agent, and pays one. Returns the addresses of both. */
async function startShopCheckouts({ post, issueCard, get }: World) {
  const shopId = 'plain-goods'
  const start = async (productId: string) => {
    const { json, text } = await post(`/simulations/shops/${shopId}/checkouts`, { items: [{ productId }] })
    if (json.data === undefined) throw new Error(text)
    return json.data
  }
  const open = await start('stoneware-mug')
  const paid = await start('dotted-notebook')
  const { merchant, total: amount } = paid.attributes
  const { json } = await get(`/agent-cards/${await issueCard({ merchant })}/details`)
  const { number, cvv, expirationMonth, expirationYear } = json.data.attributes
  const card = { number, cvv, expirationMonth, expirationYear }
  const { status, text } = await post(`/simulations/shop-checkouts/${paid.id}/pay`, { ...card, amount })
  if (status !== 200) throw new Error(text)
  return { shopCheckout: open.attributes.url as string, shopOrder: paid.attributes.url as string }
}

/** Returns the link with its secret replaced by a wrong one in the same format. */
export function replaceSecret(link: string): string {
  const end = link.slice(-4) === 'AAAA' ? 'BBBB' : 'AAAA'
  return /[0-9a-f]{8}$/.test(link) ? `${link.slice(0, -4)}${end === 'AAAA' ? '0000' : '1111'}` : link.slice(0, -4) + end
}
