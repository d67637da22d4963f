import { hide, showProblem } from './actions.js'
import { createAmount } from './amount.js'
import { byId, make, money, replace, timeIn, writeFacts, writeHead } from './elements.js'
import { Frame } from './frame.js'
import { purchaseLine, purchaseState } from './words.js'

/** @typedef {import('./words.js').Purchase} Purchase */
/** @typedef {import('./words.js').Card} Card */
/** @typedef {{ card: Card, purchases: Purchase[] }} ViewData */

/** The maximum number of transactions that are read. If the card has more, only the newest are read. */
const maxTransactions = 20

const amount = createAmount()
const authorize = byId('authorize', HTMLButtonElement)
/** @type {Card | undefined} */
let card

const frame = new Frame({ type: 'agentCard', idOf: ({ id }) => id, fromResult, read, render, news, pauseMs })
frame.start()

authorize.addEventListener('click', authorizePurchase)
amount.input.addEventListener('input', labelButton)
// Hosts embed views in frames that cannot submit forms, so the view handles Enter itself.
amount.input.addEventListener('keydown', ({ key }) => {
  if (key === 'Enter') authorize.click()
})

/**
 * Returns the part of the view's data that a tool's result contains.
 * @param {Card} resource
 * @returns {ViewData}
 */
function fromResult(resource) {
  return { card: resource, purchases: [] }
}

/**
 * Reads a card and its purchases.
 * @param {string} cardId
 * @returns {Promise<ViewData>}
 */
async function read(cardId) {
  const query = { cardId, ...frame.party() }
  const [found, transactions] = await Promise.all([
    frame.host.call('get_agent_card', query),
    frame.host.call('list_card_transactions', { ...query, limit: maxTransactions }),
  ])
  const purchases = transactions.filter((/** @type {Purchase} */ { attributes }) => attributes.kind === 'purchase')
  return { card: found, purchases: purchases.reverse() }
}

/**
 * Returns the pause before the next read, in milliseconds; undefined if nothing can change.
 * @param {ViewData} shown
 */
function pauseMs({ card: { attributes }, purchases }) {
  const held = purchases.some((purchase) => purchase.attributes.held > 0)
  return held ? 5000 : stateOf(attributes.status).pauseMs
}

/**
 * Describes the changes, for a screen reader; returns an empty string if there are no changes.
 * @param {ViewData} before
 * @param {ViewData} after
 */
function news(before, after) {
  const lines = (/** @type {ViewData} */ { purchases }) => purchases.map(({ attributes }) => purchaseLine(attributes))
  const fresh = lines(after).filter((line, at) => line !== lines(before)[at])
  if (fresh.length > 0) return fresh.join(' ')
  return before.card.attributes.status === after.card.attributes.status
    ? ''
    : `The card is ${after.card.attributes.status}.`
}

/** @typedef {{ text: string, tone: string, pauseMs?: number }} CardState */

/** @typedef {typeof import('../../../../tools/agent-cards.ts').agentCardStatuses[number]} CardStatus */
/** @type {Record<CardStatus, CardState>} */
const cardStates = {
  active: { text: 'Active', tone: 'good', pauseMs: 5000 },
  frozen: { text: 'Frozen', tone: 'open', pauseMs: 15_000 },
  used: { text: 'Used', tone: 'over', pauseMs: 15_000 },
  expired: { text: 'Expired', tone: 'bad' },
}

/**
 * Returns the label and tone of a status. A deployed API may use statuses that `cardStates` does not list.
 * @param {string} status
 * @returns {CardState}
 */
function stateOf(status) {
  return /** @type {Record<string, CardState>} */ (cardStates)[status] ?? { text: status, tone: 'over' }
}

/**
 * Renders the card and its purchases.
 * @param {ViewData} shown
 */
function render({ card: found, purchases }) {
  card = found
  const { status, merchant, maximumAmount, currency, expiresAt, createdAt, agentId, instanceId } = found.attributes
  const { timeZone } = frame.host.context()
  const state = stateOf(status)
  writeHead(merchant.name, state)
  writeFacts('facts', {
    Maximum: money(maximumAmount, currency),
    [status === 'expired' ? 'Expired' : 'Expires']: timeIn(expiresAt, timeZone),
    Issued: timeIn(createdAt, timeZone),
    Agent: agentId ?? 'None (a person or an API key requested the card)',
    Run: instanceId,
    Card: found.id,
  })
  replace('timeline', purchases.map(purchaseItem))
  byId('about', HTMLElement).hidden = false
  byId('story', HTMLElement).hidden = purchases.length === 0
  const section = byId('sandbox', HTMLElement)
  // While an action runs, its progress text on the pressed button must not be overwritten.
  if (frame.busy()) return
  if (!frame.maySimulate() || status !== 'active') return hide(section)
  section.hidden = false
  const hint = `The card allows at most ${money(maximumAmount, currency)}.`
  // The field accepts more than the card allows, so that people can see how a purchase is declined.
  amount.suggest({ suggestedCents: maximumAmount, maxCents: 10 ** 11, currency, hint })
  labelButton()
}

/**
 * Creates the list item of a purchase.
 * @param {Purchase} purchase
 */
function purchaseItem({ attributes }) {
  const time = make('time', timeIn(attributes.createdAt, frame.host.context().timeZone))
  time.setAttribute('datetime', attributes.createdAt)
  const title = make('strong', `${money(attributes.amount, attributes.currency)} at ${attributes.merchant.name}`)
  return make('li', [title, time, make('span', purchaseLine(attributes))], purchaseState(attributes).tone)
}

function labelButton() {
  if (card === undefined || frame.busy()) return
  const cents = amount.cents()
  authorize.textContent = cents === undefined ? 'Authorize' : `Authorize ${money(cents, card.attributes.currency)}`
}

function authorizePurchase() {
  if (card === undefined) return
  const cents = amount.cents()
  if (cents === undefined) return showProblem(amount.problem())
  const { currency, merchant } = card.attributes
  const purchase = { cardId: card.id, amount: cents, currency, merchant: { name: merchant.name } }
  frame.act(authorize, 'Authorizing…', 'simulate_card_authorization', { ...purchase, ...frame.party() })
}
