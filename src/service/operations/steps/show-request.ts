import type { z } from 'zod'
import type { PaymentRequest } from '../../../../tools/payment-requests.ts'
import { sha256, timestamp } from '../../../core/system.ts'
import { asOf } from '../../rules/payment-requests.ts'
import { findAgentOfAnyParty } from '../../store/agents.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findParty } from '../../store/parties.ts'
import { rootKeys, signatureFinder } from '../../store/root-keys.ts'
import type { AgentRow } from '../../store/schema/agents.ts'
import type { PartyRow } from '../../store/schema/parties.ts'
import type { PaymentRequestRow } from '../../store/schema/payment-requests.ts'
import { findWallet } from '../../store/wallets.ts'
import { requestText } from '../../tokens/record-texts.ts'

type RequestResource = z.output<typeof PaymentRequest>

/**
 * Returns the hash of a new payment request's token, which is the last part of the URL of the request's page. Only the
 * hash is stored, because the token can be derived from the root key again.
 */
export async function requestTokenHash(tx: Transaction, requestId: string): Promise<string> {
  return hashOfRequestToken((await tx.shared(rootKeys)).sign(requestText(requestId)))
}

export function hashOfRequestToken(token: string): string {
  return sha256(token)
}

/** Returns a function that builds the URL of the page where the payer pays or declines a payment request. */
export async function requestUrls(tx: Transaction, publicUrl: () => string) {
  const find = await signatureFinder(tx)
  return async ({ id, tokenHash }: Pick<PaymentRequestRow, 'id' | 'tokenHash'>): Promise<string> => {
    // Tries each key until one produces a token whose hash is the stored hash.
    const token = await find(requestText(id), (one) => hashOfRequestToken(one) === tokenHash)
    if (token === undefined) throw new Error(`Bug: no key produces the token of the payment request ${id}.`)
    return `${publicUrl()}/request/${token}`
  }
}

interface Viewing {
  tx: Transaction
  nowMs: number
  publicUrl: () => string
  /** The party that views the request: the requester or the payer. */
  partyId: string
}

/**
 * Returns a function that renders payment requests. The function loads each party, agent and wallet only once, even if
 * several of the requests refer to the same one.
 */
export function requestViews(viewing: Viewing): (row: PaymentRequestRow) => Promise<RequestResource> {
  const load = loadRenderer(viewing)
  return async (row) => (await load(row))(row)
}

/**
 * Loads the records that are shown with a payment request. Returns a function that renders this request in its current
 * state or in a later state, without reading from the database again.
 */
export function readRequestView(viewing: Viewing, row: PaymentRequestRow) {
  return loadRenderer(viewing)(row)
}

type Render = (row: PaymentRequestRow) => RequestResource

function loadRenderer({ tx, nowMs, publicUrl, partyId: viewer }: Viewing): (row: PaymentRequestRow) => Promise<Render> {
  const partyOf = findOnce((id: string) => findParty(tx, id))
  const agentOf = findOnce((id: string) => findAgentOfAnyParty(tx, { id }))
  const walletOf = findOnce((id: string, partyId: string) => findWallet(tx, partyId, id))
  return async ({ id, tokenHash, partyId, walletId, agentId }) => {
    const isSender = viewer === partyId
    const [url, requester, agent, wallet] = await Promise.all([
      requestUrls(tx, publicUrl).then((urlOf) => urlOf({ id, tokenHash })),
      partyOf(partyId),
      agentId === null ? undefined : agentOf(agentId),
      isSender ? walletOf(walletId, partyId) : undefined,
    ])
    const initiator = agent === undefined ? requester : await partyOf(agent.partyId)
    const related = { requester, agent, initiator, walletName: wallet?.displayName ?? null, isSender }
    return (row) => viewOf(asOf(row, nowMs), { ...related, url })
  }
}

/** Wraps a lookup so that it queries the database only once for each id. */
function findOnce<Found>(find: (id: string, partyId: string) => Promise<Found>) {
  const found = new Map<string, Promise<Found>>()
  return (id: string, partyId = '') => {
    const record = found.get(id) ?? find(id, partyId)
    found.set(id, record)
    return record
  }
}

interface RelatedData {
  requester: PartyRow | undefined
  initiator: PartyRow | undefined
  agent: AgentRow | undefined
  walletName: string | null
  /** Whether the viewing party is the requester. The payer does not see the request's tags, run or wallet. */
  isSender: boolean
  url: string
}

function viewOf(row: PaymentRequestRow, related: RelatedData): RequestResource {
  const { requester, initiator, agent, walletName, isSender, url } = related
  const party = (id: string | null) => ({ data: id === null ? null : { type: 'party' as const, id } })
  const payerOfType = (type: PaymentRequestRow['payerType']) => (row.payerType === type ? row.payerValue : null)
  return {
    type: 'paymentRequest',
    id: row.id,
    attributes: {
      amount: row.amountCents,
      currency: row.currency,
      status: row.status,
      description: row.description,
      tags: isSender ? (JSON.parse(row.tags) as Record<string, string>) : {},
      requesterName: requester?.displayName ?? null,
      requesterEmail: requester?.email ?? null,
      requesterAvatarUrl: null,
      requesterHandle: handleOf(requester),
      walletName,
      payerName: row.payerName,
      payerEmail: payerOfType('email'),
      payerAvatarUrl: null,
      payerHandle: payerOfType('handle'),
      payerPhone: payerOfType('phone'),
      payerPartyId: row.payerPartyId,
      payerIdentifierType: row.payerType,
      payerIdentifier: row.payerValue,
      initiatorParty: {
        id: initiator?.id ?? row.partyId,
        name: initiator?.displayName ?? null,
        handle: handleOf(initiator),
      },
      initiatorAgent: agent === undefined ? null : { id: agent.id, name: agent.name, handle: agent.handle },
      paymentLinkUrl: url,
      transactionId: row.transactionId,
      agentId: isSender ? row.agentId : null,
      instanceId: isSender ? row.instanceId : null,
      expiresAt: timestamp(row.expiresAtMs),
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
    },
    relationships: {
      party: party(row.partyId),
      requesterParty: party(row.partyId),
      wallet: { data: isSender ? { type: 'wallet', id: row.walletId } : null },
      payerParty: party(row.payerPartyId),
      payerAgent: { data: row.payerAgentId === null ? null : { type: 'agent', id: row.payerAgentId } },
      payment: { data: row.paymentId === null ? null : { type: 'payment', id: row.paymentId } },
    },
  }
}

function handleOf(party: PartyRow | undefined): string | null {
  const handle = party?.handle ?? null
  return handle === null ? null : `@${handle}`
}
