import { emailOf, type Invitation, type Party, partnerOf, type State } from './state.ts'

// biome-ignore lint/suspicious/noExplicitAny: resources are read by name.
type Resource = any

/** A list as it should be, newest first, and what of its resources is compared. */
export interface List {
  path: string
  query?: Record<string, string>
  by: 'agent' | 'party'
  show: (resource: Resource) => unknown
  expected: unknown[]
}

type Named = Pick<List, 'path' | 'by' | 'show'>
type Query = Record<string, string>

/** One list by each value of a filter, and whole. */
function filtered<T>(list: Named, all: readonly T[], view: (one: T) => unknown, by: [Query, (one: T) => boolean][]) {
  const newest = (rows: readonly T[]) => rows.map(view).reverse()
  return [
    { ...list, expected: newest(all) },
    ...by.map(([query, matches]) => ({ ...list, query, expected: newest(all.filter(matches)) })),
  ]
}

const withStatus = ({ id, attributes }: Resource) => ({ id, status: attributes.status })
const idAndStatus = ({ id, status }: { id: string; status: string }) => ({ id, status })
const byStatus = <T extends { status: string }>(...statuses: string[]): [Query, (one: T) => boolean][] =>
  statuses.map((status) => [{ status }, (one) => one.status === status])

export function listsOf(self: Party, state: State): List[] {
  return [...cardLists(self), ...moneyLists(self, state), ...peopleLists(self)]
}

function cardLists({ purchases: { cards, transactions }, subscriptions }: Party): List[] {
  const show = ({ id, attributes: of, relationships }: Resource) => {
    const { status, amount, held, captured, refunded, decline } = of
    const cardId = relationships.agentCard.data.id
    return { id, cardId, status, amount, held, captured, refunded, decline: decline?.code ?? null }
  }
  const statuses = ['authorized', 'declined', 'captured', 'partially_captured', 'reversed', 'refunded']
  const ofCard = cards
    .slice(0, 3)
    .map(({ id: cardId }): [Query, (one: { cardId: string }) => boolean] => [
      { cardId },
      (one) => one.cardId === cardId,
    ])
  return (['agent', 'party'] as const).flatMap((by) => [
    ...filtered({ path: '/agent-cards', by, show: withStatus }, cards, idAndStatus, []),
    ...filtered(
      { path: '/card-transactions', by, show },
      transactions,
      (one) => one,
      by === 'agent' ? ofCard : byStatus(...statuses),
    ),
    ...filtered(
      { path: '/subscriptions', by, show: withStatus },
      subscriptions,
      idAndStatus,
      by === 'agent' ? [] : byStatus('pending', 'active', 'canceled'),
    ),
  ])
}

export function moneyLists(self: Party, state: State): List[] {
  const { purchases, walletId, payments, approvals, moves } = self
  const counterpartyPartyId = partnerOf(self, state).partyId
  const wallet = { id: walletId, balance: { ...purchases.balance, currency: 'USD' } }
  const showWallet = ({ id, attributes: { balance } }: Resource) => ({ id, balance })
  const showPayment = ({ id, attributes: { amount, status } }: Resource) => ({ id, amount, status })
  const showMove = ({ attributes: { amount, direction, transactionType: type }, relationships: to }: Resource) => {
    return { of: (to.payment.data ?? to.transfer.data ?? to.subscription.data).id, amount, direction, type }
  }
  const showApproval = ({ id, attributes: { status, target, reasons } }: Resource) => {
    return { id, status, of: target.id, over: reasons.map((reason: { actualAmount: number }) => reason.actualAmount) }
  }
  const view = ({ isPartner: _, ...move }: Party['moves'][number]) => move
  return (['agent', 'party'] as const).flatMap((by) => [
    { path: '/wallets', by, show: showWallet, expected: [wallet] },
    ...filtered(
      { path: '/payments', by, show: showPayment },
      payments.filter(({ to }) => to !== 'bank'),
      ({ id, amount, status }) => ({ id, amount, status }),
      [],
    ),
    ...filtered({ path: '/transactions', by, show: showMove }, moves, view, [
      [{ type: 'payment' }, ({ type }) => type === 'payment'],
      [{ type: 'transfer' }, ({ type }) => type === 'transfer'],
      [{ counterpartyPartyId }, ({ isPartner }) => isPartner],
      [{ walletId, delegated: 'false' }, () => true],
      [{ delegated: 'true' }, () => false],
    ]),
    ...filtered(
      { path: '/approvals', by, show: showApproval },
      approvals,
      ({ id, status, payment, over }) => ({ id, status, of: payment.id, over }),
      byStatus('pending', 'approved', 'denied', 'canceled'),
    ),
  ])
}

function peopleLists(self: Party): List[] {
  const { agents, agentKeys, apiKeys, invitations, agentId } = self
  const by = 'party'
  const showInvitation = ({ id, attributes: { status, cancelReason } }: Resource) => ({ id, status, cancelReason })
  const viewInvitation = ({ id, status, cancelReason }: Invitation) => ({ id, status, cancelReason })
  const forAgent: [Query, (one: Invitation) => boolean] = [{ agentId }, (one) => one.agentId === agentId]
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
    ...groups(self),
    ...customers(self),
  ]
}

/** The pending ones by recipient: in a group the oldest first, the groups by their oldest, newest first. */
function groups(self: Party): List[] {
  const show = ({ id, attributes: { agentInvitations } }: Resource) => ({
    id,
    invitations: agentInvitations.map(({ invitationId }: { invitationId: string }) => invitationId),
  })
  return (['party', 'agent'] as const).map((by) => {
    const mine = (one: Invitation) => by === 'party' || one.agentId === self.agentId
    const pending = self.invitations.filter((one) => one.status === 'PENDING' && mine(one))
    const byPerson = [...Map.groupBy(pending, ({ person }) => person)]
    const expected = byPerson.map(([person, of]) => ({
      id: emailOf(self, person),
      invitations: of.map(({ id }) => id),
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
    Object.entries(statuses).map(([status, of]) => {
      const granted = self.grants.filter(
        (grant) => of.includes(grant.status) && (by === 'party' || grant.agentId === self.agentId),
      )
      const expected = self.customers.flatMap(({ id }) => {
        const agents = granted.filter(({ customerId }) => customerId === id)
        if (agents.length === 0) return []
        const any = agents.some((grant) => grant.status === 'ACTIVE') ? 'ACTIVE' : 'REVOKED'
        return [{ id, status: any, agents: agents.map((grant) => ({ agentId: grant.agentId, status: grant.status })) }]
      })
      return { path: '/customers', query: { status }, by, show, expected: expected.reverse() }
    }),
  )
  const { agentId } = self
  const its = <T extends { agentId: string }>(all: T[]) => all.filter((one) => one.agentId === agentId).reverse()
  const granted = its(self.grants).map(({ customerId: id, status }) => ({ id, status }))
  const asked = its(self.invitations)
    .filter(({ status }) => status !== 'ACCEPTED')
    .map(({ person, status }) => ({ id: emailOf(self, person), status }))
  const path = `/agents/${agentId}/customers`
  return [...lists, { path, by: 'party', show: withStatus, expected: [...granted, ...asked] }]
}
