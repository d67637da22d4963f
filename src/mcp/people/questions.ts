import type { z } from 'zod'
import { type Approval, approvals } from '../../../tools/approvals.ts'
import { customers } from '../../../tools/customers.ts'
import { payments } from '../../../tools/payments.ts'
import { type Subscription, subscriptions } from '../../../tools/subscriptions.ts'
import { money, quoted, quotedWhole, word } from '../answers/quoted-text.ts'
import {
  askToChangeApplication,
  askToChangeIssuer,
  askToChangeLimits,
  askToCreateAgentKey,
  askToCreateApiKey,
  askToCreateApplication,
  askToDeleteAgent,
  askToEndAgentKey,
  askToRevokeApiKey,
  askToRevokeApplication,
  askToRevokeIssuer,
  askToTrustIssuer,
} from './agent-questions.ts'
import {
  askToChangeWebhook,
  askToClearPartyLimits,
  askToCreateWebhook,
  askToEndWebhook,
  askToInvite,
  askToRemoveMember,
  askToSetPartyLimits,
} from './party-questions.ts'
import {
  askToDeposit,
  askToFulfill,
  askToIssueCard,
  askToPay,
  askToTransfer,
  askToWire,
  askToWithdraw,
  bankAccount,
} from './payment-questions.ts'
import { type Arguments, onBehalf, optional, type Question, type QuestionRule, type Read, related } from './question.ts'

/** The rules for the calls that need a person's decision, keyed by tool name. */
export const questions: Readonly<Record<string, QuestionRule>> = {
  approve_approval: { ask: askToApprove },
  cancel_subscription: { ask: askToCancel },
  remove_customer: { ask: askToRemove },
  remove_customer_agent: { ask: askToRemove },
  remove_agent_customer: { ask: askToRemove },
  revoke_api_key: { ask: askToRevokeApiKey },
  revoke_agent_key: { ask: (input, read) => askToEndAgentKey(input, read, 'Revoke an agent key') },
  rotate_agent_key: { ask: (input, read) => askToEndAgentKey(input, read, 'Replace an agent key') },
  delete_agent: { ask: askToDeleteAgent },
  delete_external_account: { ask: askToUnlink },
  remove_party_member: { ask: askToRemoveMember },
  create_party_invitations: { ask: askToInvite },
  set_party_limits: { ask: askToSetPartyLimits },
  clear_party_limits: { ask: askToClearPartyLimits },
  create_webhook: { ask: askToCreateWebhook },
  update_webhook: { ask: askToChangeWebhook },
  delete_webhook: { ask: (input, read) => askToEndWebhook(input, read, 'Delete') },
  rotate_webhook_secret: { ask: (input, read) => askToEndWebhook(input, read, 'Replace the secret of') },
  update_agent: { ask: askToChangeLimits },
  create_api_key: { ask: askToCreateApiKey },
  create_agent_key: { ask: askToCreateAgentKey },
  create_application: { ask: askToCreateApplication },
  update_application: { ask: askToChangeApplication },
  revoke_application: { ask: askToRevokeApplication },
  create_trusted_issuer: { ask: askToTrustIssuer },
  update_trusted_issuer: { ask: askToChangeIssuer },
  revoke_trusted_issuer: { ask: askToRevokeIssuer },
  create_payment: { amount: 'amount', ask: askToPay },
  create_wire: { amount: 'amount', ask: askToWire },
  create_internal_transfer: { amount: 'amount', ask: askToTransfer },
  create_deposit: { amount: 'amount', ask: askToDeposit },
  create_withdrawal: { amount: 'amount', ask: askToWithdraw },
  fulfill_payment_request: { ask: askToFulfill },
  issue_agent_card: { amount: 'maximumAmount', ask: askToIssueCard },
}

async function askToApprove({ approvalId }: Arguments, read: Read): Promise<Question | undefined> {
  const { data } = await read(approvals.getApproval, { approvalId })
  const { status, payment, wire, customer, initiator, reasons } = data.attributes
  // The approval is no longer pending, so the service will refuse the call and say why.
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
      initiator === null ? undefined : `Requested by: ${requester(initiator)}`,
      customer === null ? undefined : `On behalf of: ${quoted(customer.name ?? 'a customer')} (${word(customer.id)})`,
      limits.length === 0 ? undefined : `Held because it exceeds: ${limits.join(', ')}`,
      `Approval: ${word(approvalId)}`,
    ],
    effect: 'The money moves at once.',
    approveLabel: `Yes, approve ${amount}`,
  }
}

/** Describes the recipient of the pending payment or, for a transfer, states the transfer's id. */
async function payee({ attributes: { target, customer } }: z.output<typeof Approval>, read: Read) {
  if (target.type !== 'payment') return `Transfer: ${word(target.id)}`
  const acting = customer === null ? {} : { customerPartyId: customer.id }
  const found = await optional(read(payments.getPayment, { paymentId: target.id, ...acting }))
  if (found === undefined) return `To: not shown here, see payment ${word(target.id)}`
  const to = related(found.data, 'recipientAgent') ?? related(found.data, 'recipient')
  const payeeWords = to === undefined ? 'anyone who claims it' : `${word(to.type)} ${word(to.id)}`
  return `To: ${payeeWords} (payment ${word(target.id)})${note(found.data.attributes.description)}`
}

function requester({ actorType, agent }: NonNullable<z.output<typeof Approval>['attributes']['initiator']>): string {
  return agent === null ? word(actorType) : `agent ${quoted(agent.name ?? 'without a name')} (${word(agent.id)})`
}

async function askToCancel({ subscriptionId, ...acting }: Arguments, read: Read): Promise<Question | undefined> {
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
    effect: 'All future payments are stopped for good.',
    approveLabel: 'Yes, cancel the subscription',
  }
}

function price(terms: z.output<typeof Subscription>['attributes']['terms'], currency: string): string {
  const every = `every ${Number(terms.every.count)} ${word(terms.every.unit)}`
  if ('amount' in terms) return `${money(terms.amount, currency)} ${every}`
  return `${money(terms.totalAmount, currency)} in ${Number(terms.paymentCount)} payments, ${every}`
}

async function askToRemove({ customerId, agentId }: Arguments, read: Read): Promise<Question> {
  const { data } = await read(customers.getCustomer, { customerId })
  const customer = `the customer ${quoted(data.attributes.name)} (${word(customerId)})`
  return {
    facts: [agentId === undefined ? `Remove ${customer}` : `Remove the agent ${word(agentId)} from ${customer}`],
    effect: `Their grants ${agentId === undefined ? 'to all of your agents' : 'to this agent'} end at once. Only a new invitation connects them again.`,
    approveLabel: 'Yes, remove',
  }
}

async function askToUnlink({ externalAccountId, ...acting }: Arguments, read: Read): Promise<Question> {
  return {
    facts: [`Unlink the bank account ${await bankAccount(externalAccountId, acting, read)}`],
    effect: 'Transfers that wait for a review are canceled. Only someone who signs in at the bank can link it again.',
    approveLabel: 'Yes, unlink the account',
  }
}

const note = (description: unknown) => (description === null ? '' : `, described as ${quoted(description)}`)
