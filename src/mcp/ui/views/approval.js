import { hide } from './actions.js'
import { Refusal } from './answers.js'
import { byId, make, money, replace, timeIn, writeFacts, writeHead } from './elements.js'
import { Frame } from './frame.js'

/** @typedef {{ limitType: string, limitAmount: number, actualAmount: number, currency: string }} Reason */
/**
 * @typedef Approval
 * @property {string} id
 * @property {ApprovalAttributes} attributes
 */
/**
 * @typedef ApprovalAttributes
 * @property {string} status
 * @property {{ type: string, id: string }} target
 * @property {{ amount: number, currency: string } | null} payment
 * @property {Reason[]} reasons
 * @property {{ id: string, name: string | null } | null} customer
 * @property {{ beneficiaryName: string, accountDisplayMask: string } | null} wire
 * @property {{ actorType: string, agent: { id: string, name: string | null, owner: { name: string } | null } | null } | null} initiator
 * @property {string | null} denialReason
 * @property {string} createdAt
 * @property {string | null} resolvedAt
 */
/** @typedef {{ approval: Approval, payee: string, note: string | null }} ViewData */

const approve = byId('approve', HTMLButtonElement)
const deny = byId('deny', HTMLButtonElement)
const reason = byId('reason', HTMLInputElement)
/** @type {Approval | undefined} */
let approval
/**
 * The payee and the note of the last payment that was read. They never change, so they are not read again for the same
 * approval.
 * @type {{ approvalId: string, payee: string, note: string | null } | undefined}
 */
let knownPayment

const frame = new Frame({ type: 'approval', idOf: ({ id }) => id, fromResult, read, render, news, pauseMs })
frame.start()

approve.addEventListener('click', () => decide(approve, 'Approving…', 'approve_approval', {}))
deny.addEventListener('click', () =>
  decide(deny, 'Denying…', 'deny_approval', { reason: reason.value.trim() === '' ? undefined : reason.value.trim() }),
)

/**
 * Returns the part of the view's data that a tool's result contains.
 * @param {Approval} resource
 * @returns {ViewData}
 */
function fromResult(resource) {
  return { approval: resource, payee: wireText(resource), note: null }
}

/**
 * Reads an approval, and its payment if that was not yet read.
 * @param {string} approvalId
 * @returns {Promise<ViewData>}
 */
async function read(approvalId) {
  /** @type {Approval} */
  const found = await frame.host.call('get_approval', { approvalId, ...frame.party() })
  if (knownPayment?.approvalId !== approvalId) knownPayment = { approvalId, ...(await paymentOf(found)) }
  return { approval: found, payee: knownPayment.payee, note: knownPayment.note }
}

/**
 * Describes the account that a wire is sent to; returns an empty string if the payment is not a wire.
 * @param {Approval} approval
 */
function wireText({ attributes: { wire } }) {
  return wire === null ? '' : `${wire.beneficiaryName}, account ${wire.accountDisplayMask}`
}

/**
 * Reads the payee and the note of an approval's payment. If this fails, only the payee of a wire is known.
 * @param {Approval} found
 */
async function paymentOf(found) {
  const { target } = found.attributes
  const unknownPayee = { payee: wireText(found), note: null }
  if (target.type !== 'payment') return unknownPayee
  try {
    const payment = await frame.host.call('get_payment', { paymentId: target.id, ...frame.party() })
    const { recipientAgent, recipient } = payment.relationships
    const payee = recipientAgent?.data?.id ?? recipient?.data?.id ?? 'A recipient who has not claimed the payment yet'
    return { payee, note: payment.attributes.description }
  } catch (error) {
    if (error instanceof Refusal) return unknownPayee
    throw error
  }
}

/**
 * Returns the pause before the next read, in milliseconds; undefined if nothing can change.
 * @param {ViewData} shown
 */
function pauseMs({ approval: { attributes } }) {
  return attributes.status === 'pending' ? 5000 : undefined
}

/**
 * Describes the changes, for a screen reader; returns an empty string if there are no changes.
 * @param {ViewData} before
 * @param {ViewData} after
 */
function news({ approval: before }, { approval: after }) {
  const { status } = after.attributes
  return before.attributes.status === status ? '' : `${approvalStates[status]?.text ?? status}.`
}

const approvalStates = /** @type {Record<string, { text: string, tone: string }>} */ ({
  pending: { text: 'Pending', tone: 'open' },
  approved: { text: 'Approved', tone: 'good' },
  denied: { text: 'Denied', tone: 'bad' },
  canceled: { text: 'Canceled', tone: 'over' },
})

/**
 * Renders the approval.
 * @param {ViewData} shown
 */
function render({ approval: found, payee, note }) {
  approval = found
  const { status, payment, reasons, customer, target, denialReason, createdAt, resolvedAt } = found.attributes
  const { timeZone } = frame.host.context()
  const state = approvalStates[status] ?? { text: status, tone: 'over' }
  const amountText = payment === null ? 'an unknown amount' : money(payment.amount, payment.currency)
  writeHead(found.attributes.wire === null ? `Payment of ${amountText}` : `Wire of ${amountText}`, state)
  writeFacts('facts', {
    To: payee,
    For: note,
    'Requested by': initiatorText(found.attributes),
    Customer: customer === null ? null : (customer.name ?? customer.id),
    Requested: timeIn(createdAt, timeZone),
    Decided: resolvedAt === null ? null : timeIn(resolvedAt, timeZone),
    'Reason for denial': denialReason,
    Payment: target.id,
    Approval: found.id,
  })
  replace(
    'reasons',
    reasons.map((each) => make('li', reasonWords(each))),
  )
  byId('about', HTMLElement).hidden = false
  byId('why', HTMLElement).hidden = reasons.length === 0
  if (frame.busy()) return
  const section = byId('decision', HTMLElement)
  if (!frame.mayAct() || status !== 'pending') return hide(section)
  section.hidden = false
  approve.textContent = `Approve ${amountText}`
  deny.textContent = 'Deny'
}

const limitWords = /** @type {Record<string, string>} */ ({
  perTransactionAmount: 'The limit for one payment is',
  dailyAmount: 'The limit for a day is',
  monthlyAmount: 'The limit for a month is',
})

/**
 * Describes the limit that the payment exceeds, and the amount that counts against the limit.
 * @param {Reason} reason
 */
function reasonWords({ limitType, limitAmount, actualAmount, currency }) {
  const limit = `${limitWords[limitType] ?? `The limit ${limitType} is`} ${money(limitAmount, currency)}`
  return `${limit}; the amount that counts against it is ${money(actualAmount, currency)}.`
}

/**
 * Describes the initiator of the payment; returns null if the initiator is unknown.
 * @param {ApprovalAttributes} approval
 */
function initiatorText({ initiator }) {
  if (initiator === null) return null
  const { actorType, agent } = initiator
  if (agent === null) return actorWords[actorType] ?? actorType
  const owner = agent.owner === null ? '' : ` of ${agent.owner.name}`
  return `The agent ${agent.name ?? agent.id}${owner}`
}

const actorWords = /** @type {Record<string, string>} */ ({
  user: 'A person',
  api: 'An API key',
  service: 'The service',
})

/**
 * Sends the person's decision.
 * @param {HTMLButtonElement} button
 * @param {string} busyText the button's text during the call
 * @param {string} tool
 * @param {Record<string, unknown>} input
 */
function decide(button, busyText, tool, input) {
  if (approval !== undefined) frame.act(button, busyText, tool, { approvalId: approval.id, ...input })
}
