import { emailOf, grantFor, type Invitation, type Party, partnerOf, type State, type Subscription } from './state.ts'
import { amountOf, statusOf } from './subscriptions.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read a resource's fields by name.
type Resource = any

/** A list of the service, and the rows that it should contain, newest first. */
export interface List {
  path: string
  query?: Record<string, string>
  by: 'agent' | 'party'
  /** Returns the part of a resource that is compared with a row of `expected`. */
  show: (resource: Resource) => unknown
  expected: unknown[]
  /** Whether rows with the same time may be in any order. */
  isTieOrderFree?: boolean
}

type ListRequest = Pick<List, 'path' | 'by' | 'show' | 'isTieOrderFree'>
type Query = Record<string, string>
type Filter<T> = [query: Query, matches: (one: T) => boolean]

/** Returns the unfiltered list, and a list for each filter. */
function filtered<T>(list: ListRequest, all: readonly T[], view: (one: T) => unknown, filters: Filter<T>[]) {
  const newest = (rows: readonly T[]) => rows.map(view).reverse()
  return [
    { ...list, expected: newest(all) },
    ...filters.map(([query, matches]) => ({ ...list, query, expected: newest(all.filter(matches)) })),
  ]
}

const withStatus = ({ id, attributes }: Resource) => ({ id, status: attributes.status })
const idAndStatus = ({ id, status }: { id: string; status: string }) => ({ id, status })
const byStatus = <T extends { status: string }>(...statuses: string[]): Filter<T>[] =>
  statuses.map((status) => [{ status }, (one) => one.status === status])

export function listsOf(self: Party, state: State): List[] {
  return [...cardLists(self), ...moneyLists(self, state), ...subscriptionLists(self), ...peopleLists(self)]
}

function cardLists({ purchases: { cards, transactions } }: Party): List[] {
  const show = ({ id, attributes, relationships }: Resource) => {
    const { status, amount, held, captured, refunded, decline } = attributes
    const cardId = relationships.agentCard.data.id
    return { id, cardId, status, amount, held, captured, refunded, decline: decline?.code ?? null }
  }
  const statuses = ['authorized', 'declined', 'captured', 'partially_captured', 'reversed', 'refunded']
  const byCard = cards
    .slice(0, 3)
    .map(({ id: cardId }): Filter<{ cardId: string }> => [{ cardId }, (one) => one.cardId === cardId])
  return (['agent', 'party'] as const).flatMap((by) => [
    ...filtered({ path: '/agent-cards', by, show: withStatus }, cards, idAndStatus, []),
    ...filtered(
      { path: '/card-transactions', by, show },
      transactions,
      (one) => one,
      by === 'agent' ? byCard : byStatus(...statuses),
    ),
  ])
}

export function moneyLists(self: Party, state: State): List[] {
  const { purchases, walletId, payments, approvals, moves } = self
  const counterpartyPartyId = partnerOf(self, state).partyId
  const wallet = { id: walletId, balance: { ...purchases.balance, currency: 'USD' } }
  const showWallet = ({ id, attributes: { balance } }: Resource) => ({ id, balance })
  const showApproval = ({ id, attributes: { status, target, reasons } }: Resource) => {
    return {
      id,
      status,
      subjectId: target.id,
      over: reasons.map((reason: { actualAmount: number }) => reason.actualAmount),
    }
  }
  return (['agent', 'party'] as const).flatMap((by) => [
    { path: '/wallets', by, show: showWallet, expected: [wallet] },
    ...filtered(
      { path: '/payments', by, show: withAmount },
      payments.filter(({ to }) => to !== 'bank'),
      idAmountStatus,
      [],
    ),
    ...filtered({ path: '/transactions', by, show: showMove, isTieOrderFree: true }, moves, viewMove, [
      [{ type: 'payment' }, ({ type }) => type === 'payment'],
      [{ type: 'transfer' }, ({ type }) => type === 'transfer'],
      [{ counterpartyPartyId }, ({ counterparty }) => counterparty === counterpartyPartyId],
      [{ walletId, delegated: 'false' }, () => true],
      [{ delegated: 'true' }, () => false],
    ]),
    ...filtered(
      { path: '/approvals', by, show: showApproval },
      approvals,
      ({ id, status, subject, over }) => ({ id, status, subjectId: subject.id, over }),
      byStatus('pending', 'approved', 'denied', 'canceled'),
    ),
    ...filtered({ path: '/transfers', by, show: withAmount }, transfersOf(self), idAmountStatus, []),
    ...requestLists(self, state, by),
  ])
}

/** Returns all transfers, wires and simulated deposits. The model records a simulated deposit only as a movement. */
function transfersOf({ payments, transfers, moves }: Party) {
  const recorded = [...transfers, ...payments.filter(({ to }) => to === 'bank')]
  const fundings = moves
    .filter(({ type, sourceId }) => type === 'transfer' && !recorded.some(({ id }) => id === sourceId))
    .map(({ sourceId: id, amount, status, atMs: createdAtMs }) => ({ id, amount, status, createdAtMs }))
  return [...recorded, ...fundings].sort((one, other) => one.createdAtMs - other.createdAtMs)
}

const withAmount = ({ id, attributes: { amount, status } }: Resource) => ({ id, amount, status })
const idAmountStatus = ({ id, amount, status }: { id: string; amount: number; status: string }) => {
  return { id, amount, status }
}
const showMove = ({ attributes, relationships: to }: Resource) => {
  const { amount, direction, transactionType: type, status, createdAt } = attributes
  const sourceId = (to.payment.data ?? to.transfer.data ?? to.subscription.data).id
  return { sourceId, amount, direction, type, status, at: createdAt }
}
const viewMove = ({ counterparty: _, atMs, ...move }: Party['moves'][number]) => {
  return { ...move, at: new Date(atMs).toISOString() }
}

function requestLists(self: Party, { requests }: State, by: List['by']): List[] {
  const isPending = ({ status }: { status: string }) => status === 'OPEN' || status === 'PROCESSING'
  const sent = { path: '/payment-requests', by, show: withAmount }
  const [ownRequests, receivedRequests] = [
    requests.filter(({ from }) => from === self),
    requests.filter(({ payer }) => payer === self),
  ]
  const incoming = { ...sent, path: '/payment-requests/incoming' }
  return [
    { ...sent, expected: ownRequests.filter(isPending).map(idAmountStatus).reverse() },
    ...filtered(sent, ownRequests, idAmountStatus, [
      [{ includeCompleted: 'true', includeCanceled: 'true' }, () => true],
    ]).slice(1),
    { ...incoming, expected: receivedRequests.filter(isPending).map(idAmountStatus).reverse() },
  ]
}

/** Returns the lists of customers' records that the agent may read under its grants. */
export function customerLists(self: Party, state: State): List[] {
  return self.customers.flatMap((customer) => {
    const { account, id } = customer
    const grant = grantFor(self, customer)
    if (
      grant?.status !== 'ACTIVE' ||
      !['payments.read', 'wallets.read'].every((permission) => grant.permissions.includes(permission))
    ) {
      return []
    }
    const readable = [...moneyLists(account, state), ...subscriptionLists(account)].filter(({ by, query }) => {
      return by === 'agent' && query?.walletId === undefined && query?.delegated === undefined
    })
    return readable.map((list) => ({ ...list, query: { ...list.query, customerPartyId: id } }))
  })
}

function subscriptionLists({ subscriptions }: Party): List[] {
  const show = ({ id, attributes: { status, nextPayment: next, missedPayments: missed, attention } }: Resource) => {
    const due = next && [next.paymentNumber, next.dueDate, next.amount]
    return { id, status, next: due, missed, attention: attention && [attention.reason, attention.since] }
  }
  const view = (one: Subscription) => {
    const { id, plan } = one
    const status = statusOf(one)
    const number = status === 'canceled' ? null : plan === undefined ? 1 : plan.next
    const next = number && [number, plan === undefined ? null : plan.dueOn(number), amountOf(one, number)]
    const attention = plan?.attention && [plan.attention.reason, new Date(plan.attention.sinceMs).toISOString()]
    return { id, status, next, missed: (plan?.missed ?? []).toSorted((a, b) => a - b), attention: attention ?? null }
  }
  return (['agent', 'party'] as const).flatMap((by) => {
    const payments = subscriptions.slice(0, 2).map((one) => paymentsList(one, by))
    const statuses = by === 'agent' ? [] : ['pending', 'active', 'past_due', 'needs_attention', 'canceled', 'completed']
    const list = { path: '/subscriptions', by, show }
    const filters = statuses.map((status): Filter<Subscription> => {
      return [{ status }, (one) => statusOf(one) === status]
    })
    return [...filtered(list, subscriptions, view, filters), ...payments]
  })
}

/**
 * Returns the list of a subscription's payments. If the subscription is over, the list has only past payments.
 * Otherwise, it also has the next payment and, if the number of payments is fixed, all payments after the next one.
 */
function paymentsList(one: Subscription, by: List['by']): List {
  const { id, plan, amounts } = one
  const show = ({ attributes: { paymentNumber, status, amount, dueDate } }: Resource) => {
    return [paymentNumber, status, amount, dueDate]
  }
  const next = plan === undefined ? 1 : (plan.next ?? amounts.length + 1)
  const isOver = ['canceled', 'completed'].includes(statusOf(one))
  const last = isOver ? next - 1 : amounts.length === 1 ? next : amounts.length
  const charged = new Set(plan?.charged.map(([number]) => number))
  const expected = Array.from({ length: last }, (_, index) => {
    const number = index + 1
    const unchargedStatus = plan?.missed.includes(number) ? 'missed' : number < next ? 'marked_paid' : 'scheduled'
    const due = plan === undefined ? null : plan.dueOn(number)
    return [number, charged.has(number) ? 'paid' : unchargedStatus, amountOf(one, number), due]
  })
  return { path: `/subscriptions/${id}/payments`, by, show, expected: expected.reverse() }
}

function peopleLists(self: Party): List[] {
  const { agents, agentKeys, apiKeys, invitations, agentId } = self
  const by = 'party'
  const showInvitation = ({ id, attributes: { status, cancelReason } }: Resource) => ({ id, status, cancelReason })
  const viewInvitation = ({ id, status, cancelReason }: Invitation) => ({ id, status, cancelReason })
  const forAgent: Filter<Invitation> = [{ agentId }, (one) => one.agentId === agentId]
  return [
    ...filtered({ path: '/agents', by, show: withStatus }, agents, idAndStatus, byStatus('ACTIVE', 'REVOKED')),
    ...filtered({ path: '/api-keys', by, show: withStatus }, apiKeys, idAndStatus, byStatus('ACTIVE', 'REVOKED')),
    ...filtered({ path: '/agent-keys', by, show: withStatus }, agentKeys, idAndStatus, [
      [{ agentId }, (one) => one.agentId === agentId],
    ]),
    ...filtered({ path: '/agents/invitations', by, show: showInvitation }, invitations, viewInvitation, [
      ...byStatus<Invitation>('PENDING', 'ACCEPTED', 'DECLINED', 'CANCELED'),
      [{ customerEmail: emailOf(self, 0) }, ({ person }) => person === 0],
      forAgent,
    ]),
    ...filtered(
      { path: '/agents/invitations', by: 'agent', show: showInvitation },
      invitations.filter(forAgent[1]),
      viewInvitation,
      [],
    ),
    ...invitationGroups(self),
    ...customers(self),
  ]
}

/**
 * Returns the pending invitations in one group for each recipient. Each group begins with its oldest invitation. The
 * groups are sorted by their oldest invitations, newest first.
 */
function invitationGroups(self: Party): List[] {
  const show = ({ id, attributes: { agentInvitations } }: Resource) => ({
    id,
    invitations: agentInvitations.map(({ invitationId }: { invitationId: string }) => invitationId),
  })
  return (['party', 'agent'] as const).map((by) => {
    const isVisible = (one: Invitation) => by === 'party' || one.agentId === self.agentId
    const pending = self.invitations.filter((one) => one.status === 'PENDING' && isVisible(one))
    const byPerson = [...Map.groupBy(pending, ({ person }) => person)]
    const expected = byPerson.map(([person, invitations]) => ({
      id: emailOf(self, person),
      invitations: invitations.map(({ id }) => id),
    }))
    return { path: '/customers/invitations', by, show, expected: expected.reverse() }
  })
}

function customers(self: Party): List[] {
  const show = ({ id, attributes: { delegation, agents } }: Resource) => ({
    id,
    status: delegation.status,
    agents: agents.map(({ id: agentId, status }: Record<string, string>) => ({ agentId, status })),
  })
  const statuses = { active: ['ACTIVE'], revoked: ['REVOKED'], all: ['ACTIVE', 'REVOKED'] }
  const lists = (['party', 'agent'] as const).flatMap((by) =>
    Object.entries(statuses).map(([filter, grantStatuses]) => {
      const granted = self.grants.filter(
        (grant) => grantStatuses.includes(grant.status) && (by === 'party' || grant.agentId === self.agentId),
      )
      const expected = self.customers.flatMap(({ id }) => {
        const agents = granted.filter(({ customerId }) => customerId === id)
        if (agents.length === 0) return []
        const status = agents.some((grant) => grant.status === 'ACTIVE') ? 'ACTIVE' : 'REVOKED'
        return [{ id, status, agents: agents.map((grant) => ({ agentId: grant.agentId, status: grant.status })) }]
      })
      return { path: '/customers', query: { status: filter }, by, show, expected: expected.reverse() }
    }),
  )
  const { agentId } = self
  const ofAgent = <T extends { agentId: string }>(all: T[]) => all.filter((one) => one.agentId === agentId).reverse()
  const granted = ofAgent(self.grants).map(({ customerId: id, status }) => ({ id, status }))
  const ownInvitations = ofAgent(self.invitations)
    .filter(({ status }) => status !== 'ACCEPTED')
    .map(({ person, status }) => ({ id: emailOf(self, person), status }))
  const path = `/agents/${agentId}/customers`
  return [...lists, { path, by: 'party', show: withStatus, expected: [...granted, ...ownInvitations] }]
}
