import { money } from './elements.js'

/**
 * @typedef PurchaseAttributes the attributes that the views read from a card transaction, with amounts in cents
 * @property {'purchase' | 'refund'} kind
 * @property {string} status
 * @property {number} amount
 * @property {string} currency
 * @property {{ name: string }} merchant
 * @property {number} held
 * @property {number} captured
 * @property {number} refunded
 * @property {{ code: string, detail: string } | null} decline
 * @property {string | null} holdExpiresAt
 * @property {string | null} agentId
 * @property {string | null} instanceId
 * @property {string} createdAt
 * @property {string} updatedAt
 */
/** @typedef {{ data: { id: string } | null }} ToOne */
/** @typedef {{ id: string, attributes: PurchaseAttributes, relationships: { agentCard: ToOne, purchase: ToOne } }} Purchase */
/**
 * @typedef Card
 * @property {string} id
 * @property {{ status: string, merchant: { name: string }, maximumAmount: number, currency: string, expiresAt: string, agentId: string | null, instanceId: string | null, createdAt: string }} attributes
 */

/** @typedef {'good' | 'open' | 'bad' | 'over'} Tone The color of a state: good news, pending, bad news, or neutral. */

/**
 * Returns the label and tone of a purchase's state.
 * @param {PurchaseAttributes} purchase
 * @returns {{ text: string, tone: Tone }}
 */
export function purchaseState({ status, captured, refunded }) {
  if (refunded > 0) return { text: refunded < captured ? 'Partly refunded' : 'Refunded', tone: 'over' }
  return purchaseStates[status] ?? { text: status, tone: 'over' }
}

const purchaseStates = /** @type {Record<string, { text: string, tone: Tone }>} */ ({
  authorized: { text: 'Authorized', tone: 'open' },
  declined: { text: 'Declined', tone: 'bad' },
  captured: { text: 'Captured', tone: 'good' },
  partially_captured: { text: 'Partly captured', tone: 'good' },
  reversed: { text: 'Released', tone: 'over' },
})

/** The reasons for releasing a hold without a capture, keyed by the tool that released the hold or by `unknown`. */
export const releases = {
  simulate_card_reversal: 'The merchant reversed the purchase.',
  simulate_card_expiration: 'The authorization expired without a capture.',
  unknown: 'The merchant reversed the purchase, or its authorization expired.',
}

/**
 * Describes a purchase's state and amounts in one line.
 * @param {PurchaseAttributes} purchase
 */
export function purchaseLine(purchase) {
  const { held, captured, refunded, currency, decline } = purchase
  if (decline !== null) return `Declined. ${decline.detail}`
  const amounts = Object.entries({ held, captured, refunded }).filter(([, cents]) => cents > 0)
  const parts = amounts.map(([word, cents]) => `${money(cents, currency)} ${word}`)
  return [`${purchaseState(purchase).text}.`, ...(parts.length === 0 ? [] : [`${parts.join(', ')}.`])].join(' ')
}
