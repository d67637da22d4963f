import type { paymentRequests } from '../../../tools/payment-requests.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { newId } from '../../core/system.ts'
import { type Context, type HandlersOf, walletListScope } from '../request/handler.ts'
import { type ListIdentity, page, pageRequest } from '../request/pagination.ts'
import {
  isAllowedOnWallet,
  requireDefaultWalletPermission,
  requireWalletPermission,
} from '../request/permission-checks.ts'
import { requireSimulatable } from '../request/simulated-party.ts'
import { asOf, requestOpenMs } from '../rules/payment-requests.ts'
import type { PageOf } from '../store/engine/page.ts'
import {
  changePaymentRequest,
  findPaymentRequest,
  findPaymentRequestOfAnyParty,
  insertPaymentRequest,
  listReceivedRequests,
  listSentRequests,
} from '../store/payment-requests.ts'
import type { PaymentRequestRow } from '../store/schema/payment-requests.ts'
import { defaultWallet } from '../store/wallets.ts'
import { paymentView } from './payments.ts'
import { prepareRequestMessage } from './steps/mail-people.ts'
import { payingWallet } from './steps/move-money.ts'
import { declineRequest, payRequest, payRequestByCard } from './steps/pay-request.ts'
import { normalized, resolveCounterparty } from './steps/resolve-counterparty.ts'
import { readRequestView, requestTokenHash, requestViews } from './steps/show-request.ts'

export const paymentRequestHandlers = {
  createPaymentRequest: async (input, context) => {
    const { tx, system, partyId, actor, instanceId, nowMs } = context
    const wallet = await payingWallet(context, input.walletId)
    if (wallet.status !== 'active') {
      fail('conflict', { detail: `The wallet ${wallet.id} is ${wallet.status}: nothing can be paid into it.` })
    }
    const payer = await resolveCounterparty(tx, input.payer, ['payer', 'be asked to pay'])
    if (payer.recipientPartyId === partyId) {
      failAttribute('payer/value', 'payer.value is the account that sends the request: it cannot pay itself.')
    }
    const id = newId('prq', system, nowMs)
    const row: PaymentRequestRow = {
      id,
      partyId,
      walletId: wallet.id,
      agentId: actor.agentId,
      instanceId,
      status: 'OPEN',
      amountCents: input.amount,
      currency: input.currency,
      description: input.description ?? null,
      tags: JSON.stringify(input.tags ?? {}),
      payerType: input.payer.type,
      payerValue: normalized(input.payer),
      payerName: input.payerName ?? null,
      payerPartyId: payer.recipientPartyId,
      payerAgentId: payer.recipientAgentId,
      tokenHash: await requestTokenHash(tx, id),
      paymentId: null,
      transactionId: null,
      cardTries: null,
      version: 1,
      expiresAtMs: nowMs + requestOpenMs,
      openUntilMs: nowMs + requestOpenMs,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    // All reads come before the first write, because a read after a write costs another round trip to the database.
    const [mail, render] = await Promise.all([prepareRequestMessage(context, row), readRequestView(context, row)])
    await insertPaymentRequest(tx, row)
    await mail()
    return render(row)
  },

  listPaymentRequests: async (input, context) => {
    const scope = walletListScope(context)
    const statuses = [
      ...pendingStatuses,
      ...(input.includeCompleted === 'true' ? completedStatuses : []),
      ...(input.includeCanceled === 'true' ? canceledStatuses : []),
    ]
    const list = { list: 'paymentRequests', ...scope, statuses: statuses.join() }
    const rows = await listSentRequests(context.tx, scope, statuses, pageRequest(input, list))
    return viewPage(context, rows, list)
  },

  listIncomingPaymentRequests: async (input, context) => {
    const { tx, nowMs } = context
    const scope = walletListScope(context)
    const list = { list: 'incomingPaymentRequests', ...scope }
    const page = pageRequest(input, list)
    const { rows, lastId } = await listReceivedRequests(tx, await payerOf(context), pendingStatuses, page)
    // An expired request stays stored as open until due effects are applied to the sender's records. Such requests are
    // left out.
    return viewPage(context, { rows: rows.filter((row) => asOf(row, nowMs) === row), lastId }, list)
  },

  getPaymentRequest: async ({ paymentRequestId }, context) =>
    requestViews(context)(await loadEither(context, paymentRequestId)),

  fulfillPaymentRequest: async ({ paymentRequestId, paymentSource }, context) => {
    const request = await loadReceived(context, paymentRequestId)
    return paymentView(await payRequest(context, request, paymentSource), context.partyId)
  },

  declinePaymentRequest: async ({ paymentRequestId }, context) => {
    const request = await loadReceived(context, paymentRequestId)
    const render = await readRequestView(context, request)
    return render(await declineRequest(context, request))
  },

  cancelPaymentRequest: async ({ paymentRequestId }, context) => {
    const { tx, nowMs } = context
    const request = await loadSent(context, paymentRequestId)
    const render = await readRequestView(context, request)
    return render(await changePaymentRequest(tx, request, 'cancel', nowMs))
  },

  simulatePaymentRequestFulfillment: async ({ paymentRequestId }, context) => {
    const request = await loadForSimulation(context, paymentRequestId)
    return paymentView(await payRequestByCard(context, request), request.partyId)
  },

  simulatePaymentRequestDecline: async ({ paymentRequestId }, context) => {
    const request = await loadForSimulation(context, paymentRequestId)
    const render = await readRequestView({ ...context, partyId: request.partyId }, request)
    return render(await declineRequest(context, request))
  },
} satisfies HandlersOf<typeof paymentRequests>

/** The statuses that every list includes: the request is open, or its payment is in progress. */
const pendingStatuses = ['OPEN', 'PROCESSING'] as const
/**
 * The statuses that `includeCompleted` adds: a payment was made, whether or not the bank then refused or returned it.
 */
const completedStatuses = ['COMPLETED', 'FAILED', 'RETURNED'] as const
/** The statuses that `includeCanceled` adds: the request ended without a payment. */
const canceledStatuses = ['CANCELED', 'DECLINED', 'EXPIRED'] as const

async function viewPage(context: Context, { rows, lastId }: PageOf<PaymentRequestRow>, list: ListIdentity) {
  const views = await Promise.all(rows.map(requestViews(context)))
  return page({ rows: views, lastId }, list, (one) => one)
}

/**
 * Returns a request that the party sent.
 * @throws 404 for any other request, 403 if an agent lacks the operation's permission on the request's wallet.
 */
async function loadSent(context: Context, id: string): Promise<PaymentRequestRow> {
  const request = await findPaymentRequest(context.tx, context.partyId, id)
  return request === undefined ? throwNotFound(id) : requireSent(context, request)
}

async function requireSent({ tx, actor, operation, partyId }: Context, request: PaymentRequestRow) {
  await requireWalletPermission(tx, actor, operation, { id: request.walletId, partyId })
  return request
}

/**
 * Returns a request that the party is asked to pay. If the request is not addressed to the calling agent itself, the
 * agent needs the operation's permission on the party's default wallet.
 * @throws 404 for any other request, 403 if the agent lacks this permission.
 */
async function loadReceived(context: Context, id: string): Promise<PaymentRequestRow> {
  const request = await findPaymentRequestOfAnyParty(context.tx, id)
  return request?.payerPartyId === context.partyId ? requireReceived(context, request) : throwNotFound(id)
}

async function requireReceived({ tx, actor, operation, partyId }: Context, request: PaymentRequestRow) {
  const isToCaller = actor.agentId !== null && request.payerAgentId === actor.agentId
  if (!isToCaller) await requireDefaultWalletPermission(tx, actor, operation, partyId)
  return request
}

/**
 * Returns the payer by which a list of received requests is filtered: the party, or only the calling agent if this
 * agent lacks the operation's permission on its party's default wallet.
 */
async function payerOf({ tx, actor, operation, partyId }: Context) {
  const { agentId } = actor
  if (agentId === null || partyId !== actor.partyId) return { payerPartyId: partyId }
  const wallet = await defaultWallet(tx, partyId)
  const mayReadAll = wallet !== undefined && (await isAllowedOnWallet(tx, actor, operation.permission, wallet))
  return mayReadAll ? { payerPartyId: partyId } : { payerAgentId: agentId }
}

async function loadEither(context: Context, id: string): Promise<PaymentRequestRow> {
  const request = await findPaymentRequestOfAnyParty(context.tx, id)
  if (request?.payerPartyId === context.partyId) return requireReceived(context, request)
  if (request?.partyId !== context.partyId) throwNotFound(id)
  return requireSent(context, request)
}

/**
 * Returns a request that the caller's party sent, or that the calling agent sent for a customer.
 * @throws 404 for any other request, 409 if the caller may not simulate the payer.
 */
async function loadForSimulation(context: Context, id: string): Promise<PaymentRequestRow> {
  const { tx, actor } = context
  const request = await findPaymentRequestOfAnyParty(tx, id)
  const isOwn = request?.partyId === actor.partyId || (actor.agentId !== null && request?.agentId === actor.agentId)
  if (request === undefined || !isOwn) throwNotFound(id)
  await requireSimulatable(context, request.payerPartyId, {
    call: 'Send fulfill_payment_request or decline_payment_request with a credential of that party.',
    page: 'at paymentLinkUrl',
  })
  return request
}

function throwNotFound(id: string): never {
  fail('not_found', { detail: `There is no payment request ${id}.` })
}
