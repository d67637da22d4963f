import type { z } from 'zod'
import { agentKeys } from '../../../tools/agent-keys.ts'
import { agents } from '../../../tools/agents.ts'
import { apiKeys } from '../../../tools/api-keys.ts'
import { type Approval, approvals } from '../../../tools/approvals.ts'
import { customers } from '../../../tools/customers.ts'
import { payments } from '../../../tools/payments.ts'
import { type Subscription, subscriptions } from '../../../tools/subscriptions.ts'
import { wallets } from '../../../tools/wallets.ts'
import { ApiError } from '../../client/api-error.ts'
import type { Client } from '../../client/client.ts'
import { money, quoted, quotedWhole, word } from '../answers/shown-text.ts'

/** What a person is asked before a call is carried out. */
export interface Question {
  /** What is about to happen, one fact a line: what the service says of it, and the arguments that are executed. */
  facts: (string | undefined)[]
  /** What their yes does. */
  effect: string
  /** Beside the box to tick. */
  tick: string
}

interface QuestionRule {
  /** The argument in cents above which it asks; absent: it always asks. */
  amount?: string
  /** undefined: there is nothing to decide, the service says why when it is called. */
  ask(input: Arguments, read: Read): Promise<Question | undefined>
}

// biome-ignore lint/suspicious/noExplicitAny: checked by the operation's own schemas before a question is made.
type Arguments = any
type Read = Client['call']

/** The calls that a person decides, by the tool's name. */
export const questions: Readonly<Record<string, QuestionRule>> = {
  approve_approval: { ask: approving },
  cancel_subscription: { ask: canceling },
  remove_customer: { ask: removing },
  remove_customer_agent: { ask: removing },
  remove_agent_customer: { ask: removing },
  revoke_api_key: { ask: revokingApiKey },
  revoke_agent_key: { ask: (input, read) => endingAgentKey(input, read, 'Revoke an agent key') },
  rotate_agent_key: { ask: (input, read) => endingAgentKey(input, read, 'Replace an agent key') },
  delete_agent: { ask: deletingAgent },
  update_agent: { ask: changingLimits },
  create_api_key: { ask: makingApiKey },
  create_agent_key: { ask: makingAgentKey },
  create_payment: { amount: 'amount', ask: paying },
  create_wire: { amount: 'amount', ask: wiring },
  create_internal_transfer: { amount: 'amount', ask: transferring },
  issue_agent_card: { amount: 'maximumAmount', ask: issuing },
}

async function approving({ approvalId }: Arguments, read: Read): Promise<Question | undefined> {
  const { data } = await read(approvals.getApproval, { approvalId })
  const { status, payment, wire, customer, initiator, reasons } = data.attributes
  // Decided already: the service says so.
  if (status !== 'pending') return undefined
  const amount = money(payment?.amount, payment?.currency)
  const limits = reasons.map(
    ({ limitType, limitAmount, currency }) => `${word(limitType)} ${money(limitAmount, currency)}`,
  )
  return {
    facts: [
      `Approve a ${word(data.attributes.target.type)} of ${amount}`,
      wire === null
        ? await payee(data, read)
        : `To: ${quotedWhole(wire.beneficiaryName)}, account ${quoted(wire.accountDisplayMask)}`,
      initiator === null ? undefined : `Asked for by: ${asker(initiator)}`,
      customer === null ? undefined : `On behalf of: ${quoted(customer.name ?? 'a customer')} (${word(customer.id)})`,
      limits.length === 0 ? undefined : `Held because it is above: ${limits.join(', ')}`,
      `Approval: ${word(approvalId)}`,
    ],
    effect: 'The money moves at once.',
    tick: `Yes, approve ${amount}`,
  }
}

/** Who gets the payment that waits, by what the payment itself says. */
async function payee({ attributes: { target, customer } }: z.output<typeof Approval>, read: Read) {
  if (target.type !== 'payment') return `Transfer: ${word(target.id)}`
  const acting = customer === null ? {} : { customerPartyId: customer.id }
  const found = await optional(read(payments.getPayment, { paymentId: target.id, ...acting }))
  if (found === undefined) return `To: not told, see payment ${word(target.id)}`
  const to = related(found.data, 'recipientAgent') ?? related(found.data, 'recipient')
  const whom = to === undefined ? 'whoever claims it' : `${word(to.type)} ${word(to.id)}`
  return `To: ${whom} (payment ${word(target.id)})${note(found.data.attributes.description)}`
}

function asker({ actorType, agent }: NonNullable<z.output<typeof Approval>['attributes']['initiator']>): string {
  return agent === null ? word(actorType) : `agent ${quoted(agent.name ?? 'without a name')} (${word(agent.id)})`
}

async function canceling({ subscriptionId, ...acting }: Arguments, read: Read): Promise<Question | undefined> {
  const { data } = await read(subscriptions.getSubscription, { subscriptionId, ...acting })
  const { status, terms, currency, nextPayment } = data.attributes
  if (status === 'canceled' || status === 'completed') return undefined
  return {
    facts: [
      `Cancel the subscription ${quoted(terms.description, 200)}: ${price(terms, currency)}`,
      nextPayment === null
        ? undefined
        : `Next payment: ${money(nextPayment.amount, currency)}${nextPayment.dueDate === null ? '' : ` on ${word(nextPayment.dueDate)}`}`,
      await onBehalf(acting, read),
      `Subscription: ${word(subscriptionId)}`,
    ],
    effect: 'Every future payment is stopped, for good.',
    tick: 'Yes, cancel the subscription',
  }
}

function price(terms: z.output<typeof Subscription>['attributes']['terms'], currency: string): string {
  const every = `every ${Number(terms.every.count)} ${word(terms.every.unit)}`
  if ('amount' in terms) return `${money(terms.amount, currency)} ${every}`
  return `${money(terms.totalAmount, currency)} in ${Number(terms.paymentCount)} payments, ${every}`
}

async function removing({ customerId, agentId }: Arguments, read: Read): Promise<Question> {
  const { data } = await read(customers.getCustomer, { customerId })
  const customer = `the customer ${quoted(data.attributes.name)} (${word(customerId)})`
  return {
    facts: [agentId === undefined ? `Remove ${customer}` : `Remove the agent ${word(agentId)} from ${customer}`],
    effect: `What they granted ${agentId === undefined ? 'to all of your agents' : 'to this agent'} ends at once. Only a new invitation connects them again.`,
    tick: 'Yes, remove',
  }
}

async function revokingApiKey({ keyId }: Arguments, read: Read): Promise<Question> {
  const { name, apiKeyPrefix, lastUsedAt } = (await read(apiKeys.getApiKey, { keyId })).data.attributes
  return {
    facts: [`Revoke the API key ${quoted(name)} (${shownKey(apiKeyPrefix, keyId)})`, lastUse(lastUsedAt)],
    effect: 'Whatever uses it stops working, at once and for good.',
    tick: 'Yes, revoke the key',
  }
}

async function endingAgentKey({ keyId, expiresInSeconds }: Arguments, read: Read, what: string): Promise<Question> {
  // No operation reads one key; beyond the newest hundred it is shown by its id alone.
  const { data } = await read(agentKeys.listAgentKeys, { limit: 100 })
  const key = data.find(({ id }) => id === keyId)
  const agentId = key === undefined ? undefined : related(key, 'agent')?.id
  const grace = typeof expiresInSeconds === 'number' ? `in ${expiresInSeconds} s` : 'at once'
  return {
    facts: [
      `${what}: ${key === undefined ? word(keyId) : shownKey(key.attributes.agentKeyPrefix, keyId)}`,
      agentId === undefined ? undefined : `Of the agent: ${word(agentId)}`,
      key === undefined ? undefined : lastUse(key.attributes.lastUsedAt),
    ],
    effect: `Whatever uses it stops working ${grace}, for good.`,
    tick: 'Yes, end the key',
  }
}

async function deletingAgent({ agentId }: Arguments, read: Read): Promise<Question> {
  const { name } = (await read(agents.getAgent, { agentId })).data.attributes
  return {
    facts: [`Delete the agent ${quoted(name)} (${word(agentId)})`],
    effect: 'Its keys, what customers granted it and its pending invitations end at once, for good.',
    tick: 'Yes, delete the agent',
  }
}

/** A name may change unasked; what an agent may spend is the person's to say. */
async function changingLimits({ agentId, limits }: Arguments, read: Read): Promise<Question | undefined> {
  if (limits === undefined) return undefined
  const { name } = (await read(agents.getAgent, { agentId })).data.attributes
  const windows = Object.entries((limits ?? {}) as Record<string, unknown>).map(
    ([window, cents]) => `${word(window)} ${typeof cents === 'number' ? money(cents, 'USD') : 'without a limit'}`,
  )
  return {
    facts: [
      `Change the limits of the agent ${quoted(name)} (${word(agentId)})`,
      `To: ${windows.length === 0 ? 'none' : windows.join(', ')}`,
    ],
    effect: 'Payments above a limit wait for an approval; what has none does not.',
    tick: 'Yes, change the limits',
  }
}

async function makingApiKey({ name, scopes }: Arguments): Promise<Question> {
  const held = Array.isArray(scopes) ? scopes.map((scope) => word(scope)).join(', ') : 'everything that this key may'
  return {
    facts: [`Make an API key ${quoted(name)}`, `It may: ${held}`],
    effect: 'The model gets the key. Whoever has it acts for your account without asking you, until it is revoked.',
    tick: 'Yes, make the key',
  }
}

async function makingAgentKey({ agentId }: Arguments, read: Read): Promise<Question> {
  const { name } = (await read(agents.getAgent, { agentId })).data.attributes
  return {
    facts: [`Make a key of the agent ${quoted(name)} (${word(agentId)})`],
    effect: 'The model gets the key. Whoever has it acts as the agent without asking you, until it is revoked.',
    tick: 'Yes, make the key',
  }
}

async function paying({ amount, currency, counterparty, ...rest }: Arguments, read: Read): Promise<Question> {
  return {
    facts: [
      `Pay ${money(amount, currency)}`,
      `To: ${word(counterparty.type)} ${quotedWhole(counterparty.value)}`,
      await from(rest.walletId, rest, read),
      await onBehalf(rest, read),
      reason(rest.description),
    ],
    effect: 'The money moves at once, or after an approval where a limit is hit.',
    tick: `Yes, pay ${money(amount, currency)}`,
  }
}

async function wiring({ amount, currency, beneficiary, ...rest }: Arguments, read: Read): Promise<Question> {
  const { name, accountNumber, routingNumber } = beneficiary
  return {
    facts: [
      `Wire ${money(amount, currency)}`,
      `To: ${quotedWhole(name)}, account ${word(accountNumber)} at the bank ${word(routingNumber)}`,
      await onBehalf(rest, read),
      reason(rest.description),
    ],
    effect: 'The money leaves the account and cannot be taken back.',
    tick: `Yes, wire ${money(amount, currency)}`,
  }
}

async function transferring(
  { amount, sourceWalletId, destWalletId, ...rest }: Arguments,
  read: Read,
): Promise<Question> {
  return {
    facts: [
      `Move ${money(amount)} between wallets`,
      await from(sourceWalletId, rest, read),
      `To: ${await wallet(destWalletId, rest, read)}`,
      await onBehalf(rest, read),
      reason(rest.description),
    ],
    effect: 'The money moves at once.',
    tick: `Yes, move ${money(amount)}`,
  }
}

async function issuing({ merchant, maximumAmount, currency, ...rest }: Arguments, read: Read): Promise<Question> {
  return {
    facts: [
      `Issue a card of up to ${money(maximumAmount, currency)}`,
      `For one purchase at: ${quotedWhole(merchant.name)}`,
      await onBehalf(rest, read),
    ],
    effect: 'The assistant can pay with it without asking again.',
    tick: `Yes, issue a card of up to ${money(maximumAmount, currency)}`,
  }
}

async function from(walletId: string | undefined, acting: Arguments, read: Read): Promise<string | undefined> {
  return walletId === undefined ? undefined : `From: ${await wallet(walletId, acting, read)}`
}

async function wallet(walletId: string, { customerPartyId, partyId }: Arguments, read: Read): Promise<string> {
  const found = await optional(read(wallets.getWallet, { walletId, ...present({ customerPartyId, partyId }) }))
  return found === undefined
    ? word(walletId)
    : `${quoted(found.data.attributes.displayName ?? 'a wallet')} (${word(walletId)})`
}

async function onBehalf({ customerPartyId, partyId }: Arguments, read: Read): Promise<string | undefined> {
  const customerId = customerPartyId ?? partyId
  if (customerId === undefined) return undefined
  const found = await optional(read(customers.getCustomer, { customerId }))
  return `On behalf of: ${found === undefined ? word(customerId) : `${quoted(found.data.attributes.name)} (${word(customerId)})`}`
}

/** What makes the question easier to read, and is left out where the credential may not read it. */
async function optional<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return undefined
    throw error
  }
}

interface Related {
  relationships?: unknown
}

function related({ relationships }: Related, name: string): { type: string; id: string } | undefined {
  type Relationships = Record<string, { data?: { type: string; id: string } | null } | undefined>
  return (relationships as Relationships | undefined)?.[name]?.data ?? undefined
}

const reason = (description: unknown) =>
  description === undefined ? undefined : `Reason, in the assistant's words: ${quoted(description)}`
const note = (description: unknown) => (description === null ? '' : `, described as ${quoted(description)}`)
/** The day only: asking is itself a use of the key that asks, and what a person agreed to must still be the same. */
const lastUse = (at: string | null) => (at === null ? 'Never used' : `Last used: ${word(at.slice(0, 10))} (UTC)`)
const shownKey = (prefix: string, id: string) => `${word(prefix)}…, ${word(id)}`
const present = (values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
