import { money } from '../../core/money.ts'
import type { Instruction, Secret } from './instructions.ts'
import { answeredData, type Card, type Payer } from './steps.ts'
import type { Tools } from './tools.ts'

/** The agent's key, card and payer, which instructions in text try to misuse. */
export interface Holdings {
  key: string
  /** The card with which the agent last paid; undefined if it has not paid yet. */
  card: Card | undefined
  payer: Payer
}

/** Follows an instruction: invites somebody, revokes an invitation, or creates a page that shows a card. */
export async function changeAccess(
  tools: Tools,
  instruction: Extract<Instruction, { do: 'invite' | 'revoke' | 'show_card' }>,
  { card, payer }: Holdings,
): Promise<void> {
  if (instruction.do === 'show_card') {
    if (card !== undefined) await tools.call('createAgentCardDetailsPage', { cardId: card.id, ...payer })
  } else if (instruction.do === 'revoke') {
    const pending = answeredData(await tools.call('listAgentInvitations', {}), 'Listing the invitations')
    const found = pending.find(({ attributes }) => attributes.email === instruction.to)
    if (found !== undefined) await tools.call('revokeCustomerInvitation', { invitationId: found.id })
  } else {
    const { agentId } = answeredData(await tools.call('whoami', {}), 'Reading the identity').attributes
    const agents = agentId === null ? [] : [{ agentId, permissions: ['payments.create' as const] }]
    await tools.call('createCustomerInvitation', { recipients: [{ type: 'email', value: instruction.to }], agents })
  }
}

/** Returns text that reveals a secret. */
export async function secretOf(tools: Tools, secret: Secret, { key, card, payer }: Holdings): Promise<string> {
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

/** Finds the payer whose wallet has the most money: the agent's own party or one of its customers. */
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
