import type { Action } from '../action.ts'
import type { Facts, RequestFacts } from '../facts.ts'
import { payFor, paymentFacts } from './payments.ts'
import {
  conflict,
  dayMs,
  isParty,
  join,
  type ModelPayment,
  type ModelRequest,
  madeBy,
  move,
  notFound,
  pageOf,
  type Rule,
  type State,
  walletOf,
  wrongValue,
} from './state.ts'

/** How long a request can be paid (docs/service.md#payment-requests). */
const openDays = 30

export const requestRules: Readonly<Record<string, Rule>> = {
  create_payment_request: create,
  get_payment_request: (state, action) => onRequest(state, action, ({ party, payer }) => [party, payer], requestFacts),
  // What is over is listed to who asks for it, and the run does not.
  list_payment_requests: ({ requests }, { party }) =>
    pageOf([...requests.values()].filter((one) => one.party === party && isAwaited(one)).map(requestFacts)),
  list_incoming_payment_requests: ({ requests }, { party }) =>
    pageOf([...requests.values()].filter((one) => one.payer === party && isAwaited(one)).map(requestFacts)),
  fulfill_payment_request: (state, action) =>
    onRequest(
      state,
      action,
      ({ payer }) => [payer],
      (found) => fulfill(state, action, found),
    ),
  decline_payment_request: (state, action) =>
    onRequest(
      state,
      action,
      ({ payer }) => [payer],
      (found) => end(found, 'DECLINED'),
    ),
  cancel_payment_request: (state, action) =>
    onRequest(
      state,
      action,
      ({ party }) => [party],
      (found) => end(found, 'CANCELED'),
    ),
  // The agent that asked plays the payer, whomever it asked for; its own party answers for itself.
  simulate_payment_request_fulfillment: (state, action) =>
    played(state, action, (found) => payByCard(state, action, found)),
  simulate_payment_request_decline: (state, action) => played(state, action, (found) => end(found, 'DECLINED')),
}

function create(state: State, action: Action): Facts {
  const { party, payee = '', amount = 0 } = action
  if (payee === party) return wrongValue('payer/value')
  const made: ModelRequest = {
    name: madeBy(action),
    ...{ party, payee, amount },
    payer: isParty(payee) || state.joined.has(payee) ? payee : null,
    status: 'OPEN',
    payment: null,
    expiresAtMs: state.nowMs + openDays * dayMs,
  }
  state.requests.set(made.name, made)
  return requestFacts(made)
}

function fulfill(state: State, action: Action, request: ModelRequest): Facts {
  const { party, amount } = { ...action, amount: request.amount }
  if (request.status !== 'OPEN' || amount > walletOf(state, party).available) return conflict
  const made: ModelPayment = {
    name: madeBy(action),
    ...{ sender: party, wallet: party, payee: request.party, recipient: request.party, amount },
    status: 'IN_REVIEW',
    delegated: party !== 'own',
    request: request.name,
  }
  request.status = 'PROCESSING'
  request.payment = made.name
  payFor(state, party, made)
  return paymentFacts(made)
}

/** Whoever pays by card is charged elsewhere; somebody unknown joins by it. */
function payByCard(state: State, action: Action, request: ModelRequest): Facts {
  if (request.status !== 'OPEN') return conflict
  const { payee, party, amount, name } = request
  if (!isParty(payee)) join(state, payee)
  move(walletOf(state, party), amount)
  const made: ModelPayment = {
    name: madeBy(action),
    ...{ sender: payee, wallet: null, payee: party, recipient: party, amount },
    status: 'COMPLETED',
    delegated: false,
    request: name,
  }
  state.payments.set(made.name, made)
  request.status = 'COMPLETED'
  request.payment = made.name
  return paymentFacts(made)
}

function end(request: ModelRequest, status: ModelRequest['status']): Facts {
  if (request.status !== 'OPEN') return conflict
  request.status = status
  return requestFacts(request)
}

export function expireRequests({ requests, nowMs }: State): void {
  for (const request of requests.values()) {
    if (request.status === 'OPEN' && request.expiresAtMs <= nowMs) request.status = 'EXPIRED'
  }
}

const isAwaited = ({ status }: ModelRequest) => status === 'OPEN' || status === 'PROCESSING'

function onRequest(
  { requests }: State,
  { subject, party }: Action,
  whose: (found: ModelRequest) => readonly (string | null)[],
  rule: (found: ModelRequest) => Facts,
): Facts {
  const found = requests.get(subject ?? '')
  return found === undefined || !whose(found).includes(party) ? notFound : rule(found)
}

function played({ requests }: State, { subject }: Action, rule: (found: ModelRequest) => Facts): Facts {
  const found = requests.get(subject ?? '')
  if (found === undefined) return notFound
  return found.payee === 'own' ? conflict : rule(found)
}

export function requestFacts({ name, status, amount, party, payer, payment }: ModelRequest): RequestFacts {
  const paid = status === 'COMPLETED'
  return {
    ...{ type: 'paymentRequest', name, status, amount, currency: 'USD' },
    ...{ requester: party, payer, payment, paid, days: openDays },
  }
}
