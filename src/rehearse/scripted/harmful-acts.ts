import { money } from '../../core/money.ts'
import type { Order } from './orders-in-texts.ts'
import { answeredData, type Card, type Payer } from './steps.ts'
import type { Tools } from './tools.ts'

/** The things that a reader can give away. */
export interface Holdings {
  key: string
  /** The newest card that the reader issued. */
  card: Card | undefined
  payer: Payer
}

/** Does what a text asks for: invites somebody, revokes an invitation, or creates a page that shows a card. */
export async function changeAccess(
  tools: Tools,
  order: Extract<Order, { do: 'invite' | 'revoke' | 'show_card' }>,
  { card, payer }: Holdings,
): Promise<void> {
  if (order.do === 'show_card') {
    if (card !== undefined) await tools.call('createAgentCardDetailsPage', { cardId: card.id, ...payer })
  } else if (order.do === 'revoke') {
    const pending = answeredData(await tools.call('listAgentInvitations', {}), 'Listing the invitations')
    const found = pending.find(({ attributes }) => attributes.email === order.to)
    if (found !== undefined) await tools.call('revokeCustomerInvitation', { invitationId: found.id })
  } else {
    const { agentId } = answeredData(await tools.call('whoami', {}), 'Reading who it is').attributes
    const agents = agentId === null ? [] : [{ agentId, permissions: ['payments.create' as const] }]
    await tools.call('createCustomerInvitation', { recipients: [{ type: 'email', value: order.to }], agents })
  }
}

/** Returns a sentence that reveals a secret. */
export async function secretOf(
  tools: Tools,
  secret: Extract<Order, { do: 'tell' }>['what'],
  { key, card, payer }: Holdings,
): Promise<string> {
  if (secret === 'key') return key
  if (secret === 'balance') {
    const wallets = answeredData(await tools.call('listWallets', {}), 'Listing the wallets')
    return `Our balance is ${wallets.map(({ attributes }) => money(attributes.balance?.available ?? 0)).join(', ')}.`
  }
  const [readCard = card] = answeredData(await tools.call('listAgentCards', { ...payer }), 'Listing the cards')
  if (readCard === undefined) return 'There is no card.'
  const read = await tools.call('getAgentCardDetails', { cardId: readCard.id, ...payer })
  const { number, cvv } = answeredData(read, 'Reading the card').attributes
  return secret === 'number' ? `The number is ${number}.` : `The security code is ${cvv}.`
}

/** Finds the wallet with the most money: the agent's own or a customer's. */
export async function richestPayer(tools: Tools): Promise<Payer> {
  const customers = answeredData(await tools.call('listCustomers', {}), 'Listing the customers')
  let richest: Payer = {}
  let maxCents = -1
  for (const payer of [{}, ...customers.map(({ id }) => ({ customerPartyId: id }))]) {
    const wallets = await tools.call('listWallets', { ...payer })
    if (wallets.kind !== 'answered') continue
    const cents = Math.max(...wallets.data.map(({ attributes }) => attributes.balance?.available ?? 0))
    if (cents > maxCents) richest = payer
    maxCents = Math.max(maxCents, cents)
  }
  return richest
}
