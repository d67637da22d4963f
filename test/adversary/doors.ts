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

/** A sandbox with private records of its owner, and the links that open them. */
export interface Grounds {
  site: PersonSite
  /** The paths of pages. Each path ends with a secret. */
  links: Record<Link, string>
  /** The paths of other pages, which only signed-in users can open. */
  paths: Record<'approval' | 'connection' | 'decision', string>
  clientSecret: string
  /** Strings on these pages that only the owner may see, such as ids, names and email addresses. */
  private: string[]
  stranger: Awaited<ReturnType<PersonSite['addUser']>>
}

/** The amount of a payment that users can approve only with a second factor. */
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
    fingerprint: '',
    facts: ['Pay a private shop'],
    effect: '',
    approveLabel: 'Yes',
  }
  const { keyId: principalId } = await world.whoami()
  const decisions = createPendingDecisions(world.store, world.system, { partyId: owner.partyId, principalId })
  const decision = await decisions.keep({ ...held, spends: true })
  const stranger = await site.addUser({ partyId: other.partyId, role: 'OWNER', name: 'A stranger' })
  // The first request for the public keys creates the keys. This request is sent here, so that the new keys do not
  // count as traces of an attack.
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

/** Starts two checkouts at a shop as the agent, and pays the second one. Returns the URLs of their pages. */
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

/** Replaces the secret at the end of a link with a wrong secret in the same format. */
export function replaceSecret(link: string): string {
  const end = link.slice(-4) === 'AAAA' ? 'BBBB' : 'AAAA'
  return /[0-9a-f]{8}$/.test(link) ? `${link.slice(0, -4)}${end === 'AAAA' ? '0000' : '1111'}` : link.slice(0, -4) + end
}
