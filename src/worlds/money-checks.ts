import type { CheckContext, ReportMistake } from './check-context.ts'
import type { WorldParty } from './shape.ts'

type Card = NonNullable<WorldParty['cards']>[number]
type Purchase = NonNullable<Card['purchases']>[number]
type Payment = NonNullable<WorldParty['payments']>[number]
type Wire = NonNullable<WorldParty['wires']>[number]

/**
 * Checks that a party's cards, payments, transfers and subscriptions are consistent in themselves and with the rest of
 * the file.
 */
export function checkMoney(check: CheckContext): void {
  const { names, party, index, report, world } = check
  for (const [at, card] of (party.cards ?? []).entries()) checkCard(check, card, ['cards', at])
  for (const [at, payment] of (party.payments ?? []).entries()) {
    const path = ['payments', at]
    checkSender(check, payment, path)
    const recipient = names.recipientOf(index, payment.to)
    const to = [...path, 'to']
    if (recipient === undefined) {
      report(to, `must be a party, party/agent, email address or phone number; ${names.namesIn(world.parties)}`)
    } else if (recipient.kind === 'party' && recipient.party === index)
      report(to, 'must be another party, because a party cannot pay itself')
    else checkPayment(payment, recipient.kind === 'party', path, report)
  }
  for (const [at, wire] of (party.wires ?? []).entries()) {
    const path = ['wires', at]
    checkSender(check, wire, path)
    if (wire.status === 'PENDING_CLAIM') report([...path, 'status'], 'is only for payments: a wire cannot be claimed')
  }
  for (const [at, { wallet }] of (party.deposits ?? []).entries())
    checkWallet(check, wallet, ['deposits', at, 'wallet'])
  for (const [at, { from, to, agent }] of (party.internalTransfers ?? []).entries()) {
    const path = ['internalTransfers', at]
    checkWallet(check, from, [...path, 'from'])
    checkWallet(check, to, [...path, 'to'])
    if (names.find(party.wallets, from) === names.find(party.wallets, to))
      report([...path, 'to'], 'must be a wallet other than from')
    checkAgent(check, agent, [...path, 'agent'])
  }
  for (const [at, subscription] of (party.subscriptions ?? []).entries()) {
    const path = ['subscriptions', at]
    checkWallet(check, subscription.wallet, [...path, 'wallet'])
    checkAgent(check, subscription.agent, [...path, 'agent'])
    if (subscription.paidAt !== undefined && subscription.checkoutExpiresAt !== undefined) {
      report([...path, 'checkoutExpiresAt'], 'cannot be combined with paidAt; remove one of them')
    }
  }
}

function checkCard(check: CheckContext, card: Card, path: PropertyKey[]): void {
  const { report } = check
  checkAgent(check, card.agent, [...path, 'agent'])
  checkWallet(check, card.wallet, [...path, 'wallet'])
  const purchases = card.purchases ?? []
  const approved = purchases.flatMap(({ status }, at) => (status === 'declined' ? [] : [at]))
  for (const at of approved.slice(1)) {
    report([...path, 'purchases', at, 'status'], 'can only be declined, because a card makes only one purchase')
  }
  for (const [at, purchase] of purchases.entries()) checkPurchase(purchase, [...path, 'purchases', at], report)
}

function checkPurchase(purchase: Purchase, path: PropertyKey[], report: ReportMistake): void {
  const { status, amount, captured, decline, refunds = [], endedAt } = purchase
  const isPart = status === 'partially_captured'
  if ((captured !== undefined) !== isPart) {
    report(
      [...path, 'captured'],
      isPart ? 'is required with status partially_captured' : 'is only allowed with status partially_captured',
    )
  } else if (captured !== undefined && captured >= amount) {
    report(
      [...path, 'captured'],
      `must be less than the amount, ${amount}; if all of it was captured, use status captured`,
    )
  }
  if ((decline !== undefined) !== (status === 'declined')) {
    report(
      [...path, 'decline'],
      decline === undefined ? 'is required with status declined' : 'is only allowed with status declined',
    )
  }
  if (endedAt !== undefined && (status === 'authorized' || status === 'declined')) {
    report([...path, 'endedAt'], 'is only allowed with status captured, partially_captured or reversed')
  }
  const collected = isPart ? (captured ?? 0) : status === 'captured' ? amount : 0
  let left = collected
  for (const [at, refund] of refunds.entries()) {
    left -= refund.amount
    if (left >= 0) continue
    report([...path, 'refunds', at, 'amount'], `is too much: refunds would exceed the captured amount, ${collected}`)
    return
  }
}

function checkSender(
  check: CheckContext,
  { agent, actor, wallet, status, approval }: Payment | Wire,
  path: PropertyKey[],
): void {
  const { report } = check
  checkAgent(check, agent, [...path, 'agent'])
  checkWallet(check, wallet, [...path, 'wallet'])
  if (agent !== undefined && actor === 'user') report([...path, 'actor'], 'is only allowed without an agent')
  if (approval?.denialReason !== undefined && status !== 'APPROVAL_DENIED') {
    report([...path, 'approval', 'denialReason'], 'is only allowed with status APPROVAL_DENIED')
  }
  if (approval !== undefined && (status === 'CREATED' || status === 'FAILED')) {
    report([...path, 'approval'], `is not allowed with status ${status}, because such a transfer was not reviewed`)
  }
}

function checkPayment(
  { status, claimToken }: Payment,
  isInFile: boolean,
  path: PropertyKey[],
  report: ReportMistake,
): void {
  const wireStatuses = ['PROCESSING', 'RETURNED', 'FAILED']
  if (wireStatuses.includes(status))
    report([...path, 'status'], 'is only allowed for wires, because a payment between parties arrives at once')
  if (status === 'COMPLETED' && !isInFile) {
    report([...path, 'to'], 'must be a party in this file, because the payment is COMPLETED')
  }
  if (status === 'PENDING_CLAIM' && isInFile) {
    report([...path, 'to'], 'must not be the address of a party in this file, because the payment is PENDING_CLAIM')
  }
  if (claimToken !== undefined && isInFile)
    report([...path, 'claimToken'], 'is only allowed if the recipient is not in this file')
}

function checkWallet({ names, party, report }: CheckContext, name: string | undefined, path: PropertyKey[]): void {
  if (name === undefined || names.find(party.wallets, name) !== undefined) return
  report(path, `must be a wallet of the party; ${names.namesIn(party.wallets)}`)
}

/** Checks that a name refers to an agent of the party, or to another party's agent that has a grant from the party. */
function checkAgent(
  { names, world, party, index, report }: CheckContext,
  name: string | undefined,
  path: PropertyKey[],
): void {
  if (name === undefined) return
  const agent = names.agent(index, name)
  if (agent === undefined) {
    report(path, `must be an agent of the party, or party/agent; ${names.namesIn(party.agents)}`)
    return
  }
  const grants = world.parties[agent.party]?.customers ?? []
  const isGranted = grants.some(
    (grant) => names.party(grant.customer) === index && names.agent(agent.party, grant.agent)?.at === agent.at,
  )
  if (agent.party !== index && !isGranted) {
    report(path, "is another party's agent without a grant from this party; add this party to that party's customers")
  }
}
