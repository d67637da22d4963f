import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { secret } from '../src/core/secret-fields.ts'
import { readOperation, writeOperation } from './kinds.ts'
import {
  ArgumentId,
  Cents,
  Currency,
  CustomerPartyId,
  cause,
  Id,
  listQuery,
  Merchant,
  RequestedCents,
  RequestedCurrency,
  resource,
  Timestamp,
  toOne,
  WaitSeconds,
} from './schemas.ts'

export const agentCardStatuses = ['active', 'frozen', 'used', 'expired'] as const

/**
 * A single-purchase card that an agent requested for one merchant (docs/service.md#agent-card). Amounts are in cents.
 */
export const AgentCard = resource(
  'agentCard',
  Id('pcd'),
  {
    status: z.enum(agentCardStatuses),
    merchant: z.object({ name: z.string() }),
    maximumAmount: Cents,
    currency: Currency,
    expiresAt: Timestamp,
    ...cause,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { party: toOne('party', 'pty'), wallet: toOne('wallet', 'wal'), agent: toOne('agent', 'agt') },
)

/** The details of a card. No other API response contains the card's number (docs/service.md#card-details). */
export const AgentCardDetails = resource('agentCardDetails', Id('pcd'), {
  number: secret(z.string()),
  cvv: secret(z.string()),
  expirationMonth: z.int().min(1).max(12),
  expirationYear: z.int(),
})

/** A page that shows a card's number to a person once. The resource's id is the card's id. */
export const AgentCardDetailsPage = resource('agentCardDetailsPage', Id('pcd'), {
  url: secret(z.string()),
  expiresAt: Timestamp,
})

const cardParams = z.strictObject({ cardId: ArgumentId('pcd') })
const customerArguments = z.strictObject({ customerPartyId: CustomerPartyId })

const freezing = {
  ...writeOperation,
  params: cardParams,
  attributes: customerArguments,
  bodyOptional: true,
  output: AgentCard,
  permission: 'cards.freeze',
  setsState: true,
  toolsets: ['payments'],
  errors: ['not_found'],
  extension: true,
} as const

export const agentCards = {
  issueAgentCard: defineOperation({
    ...writeOperation,
    instanceId: 'agents',
    name: 'issue_agent_card',
    title: 'Issue a card',
    description:
      'Issues a card for one purchase at one merchant (sandbox: any name). Next: get_agent_card_details. To pay a person: create_payment.',
    path: '/agent-cards',
    attributes: z.strictObject({
      merchant: Merchant,
      maximumAmount: RequestedCents.describe('Limit in cents: 5000 is $50.00'),
      currency: RequestedCurrency,
      expiresInMinutes: z.int().min(5).max(1440).default(60).describe('Lifetime'),
      customerPartyId: CustomerPartyId,
    }),
    output: AgentCard,
    permission: 'cards.issue',
    adds: true,
    toolsets: ['default'],
    errors: ['issued_cards_not_enabled'],
    extension: false,
  }),

  getAgentCard: defineOperation({
    ...readOperation,
    name: 'get_agent_card',
    title: 'Read a card',
    description: "Reads a card's status: active (usable), frozen, used or expired.",
    path: '/agent-cards/{cardId}',
    params: cardParams,
    query: z.strictObject({ customerPartyId: CustomerPartyId, waitSeconds: WaitSeconds }),
    output: AgentCard,
    permission: 'cards.read',
    toolsets: ['default'],
    errors: ['not_found'],
    extension: true,
  }),

  listAgentCards: defineOperation({
    ...readOperation,
    result: 'page',
    name: 'list_agent_cards',
    title: 'List cards',
    description: 'Lists issued cards, without numbers.',
    path: '/agent-cards',
    query: listQuery({ customerPartyId: CustomerPartyId }),
    output: AgentCard,
    permission: 'cards.read',
    toolsets: ['default'],
    errors: [],
    extension: true,
  }),

  getAgentCardDetails: defineOperation({
    ...readOperation,
    name: 'get_agent_card_details',
    title: 'Reveal card details',
    description: "Reveals a card's number, cvv and expiration to pay its merchant. Show them to nobody else.",
    path: '/agent-cards/{cardId}/details',
    params: cardParams,
    query: customerArguments,
    output: AgentCardDetails,
    permission: 'cards.read',
    toolsets: ['default'],
    errors: ['not_found'],
    extension: false,
  }),

  createAgentCardDetailsPage: defineOperation({
    ...writeOperation,
    idempotency: 'ignored',
    name: 'create_agent_card_details_page',
    title: 'Show card details to a person',
    description:
      "Creates a page that shows the signed-in person a card's number once, to pay its merchant. Give them the url; nobody else sees the number.",
    path: '/agent-cards/{cardId}/details-page',
    params: cardParams,
    attributes: customerArguments,
    bodyOptional: true,
    output: AgentCardDetailsPage,
    permission: 'cards.read',
    toolsets: ['payments'],
    errors: ['not_found'],
    extension: true,
    example: { attributes: { url: 'http://127.0.0.1:4010/cards/Xk3v0pQm7sJ1cY8nRw2eTz5bUa9hLd4gVf6iKo0_-xM' } },
  }),

  freezeAgentCard: defineOperation({
    ...freezing,
    name: 'freeze_agent_card',
    title: 'Freeze a card',
    description:
      'Blocks purchases with an active card until unfreeze_agent_card. The card still expires; a purchase already made is not affected.',
    path: '/agent-cards/{cardId}/freeze',
    example: { attributes: { status: 'frozen' } },
  }),

  unfreezeAgentCard: defineOperation({
    ...freezing,
    name: 'unfreeze_agent_card',
    title: 'Unfreeze a card',
    description: 'Makes a frozen card usable again until it expires. A used or expired card stays unusable.',
    path: '/agent-cards/{cardId}/unfreeze',
  }),
} as const
