import { hide, showProblem } from './actions.js'
import { createAmount } from './amount.js'
import { byId, make, money, replace, timeIn, write, writeFacts, writeHead } from './elements.js'
import { Frame } from './frame.js'
import { purchaseState, releases } from './words.js'

/** @typedef {import('./words.js').Purchase} Purchase */
/** @typedef {import('./words.js').Card} Card */
/** @typedef {{ purchase: Purchase, card: Card | undefined, refunds: Purchase[] }} Story */
/** @typedef {{ title: string, detail: string, at?: string | null, tone: string, cause?: Purchase['attributes'] }} Event */

/** The maximum number of transactions that are read. If the card has more, which is rare, only the newest are read. */
const maxTransactions = 100

const amount = createAmount()
const buttons = {
  capture: byId('capture', HTMLButtonElement),
  refund: byId('refund', HTMLButtonElement),
  reverse: byId('reverse', HTMLButtonElement),
  expire: byId('expire', HTMLButtonElement),
}
/**
 * The last release of a hold that this view simulated or showed. The view keeps the reason, because the purchase does
 * not contain it.
 */
let release = { purchaseId: '', reason: releases.unknown }
/** @type {Card | undefined} */
let knownCard
/**
 * The refunds that were read last. `cents` was the purchase's refunded total at that time.
 * @type {{ purchaseId: string, cents: number, list: Purchase[] }}
 */
let knownRefunds = { purchaseId: '', cents: 0, list: [] }
/** @type {Story | undefined} */
let story

const frame = new Frame({ type: 'cardTransaction', idOf, fromResult, read, render, news, pauseMs })
frame.start()

buttons.capture.addEventListener('click', () => moveMoney(buttons.capture, 'Capturing…', 'simulate_card_capture'))
buttons.refund.addEventListener('click', () => moveMoney(buttons.refund, 'Refunding…', 'simulate_card_refund'))
buttons.reverse.addEventListener('click', () => endHold(buttons.reverse, 'Reversing…', 'simulate_card_reversal'))
buttons.expire.addEventListener('click', () => endHold(buttons.expire, 'Expiring…', 'simulate_card_expiration'))
amount.input.addEventListener('input', labelButtons)
// Hosts embed views in frames that cannot submit forms, so the view handles Enter itself.
amount.input.addEventListener('keydown', ({ key }) => {
  if (key === 'Enter') (buttons.capture.hidden ? buttons.refund : buttons.capture).click()
})

/**
 * Returns the transaction's id. If the transaction is a refund, returns the id of the refunded purchase instead.
 * @param {Purchase} transaction
 */
function idOf({ id, attributes, relationships }) {
  return attributes.kind === 'refund' ? (relationships.purchase.data?.id ?? id) : id
}

/**
 * Returns the part of the view's data that a tool's result contains; undefined if the result is a refund.
 * @param {Purchase} transaction
 */
function fromResult(transaction) {
  const tool = frame.host.context().toolInfo?.tool.name
  if (tool === 'simulate_card_reversal' || tool === 'simulate_card_expiration') {
    release = { purchaseId: transaction.id, reason: releases[tool] }
  }
  return transaction.attributes.kind === 'purchase'
    ? { purchase: transaction, card: undefined, refunds: [] }
    : undefined
}

/**
 * Reads a purchase with its card and refunds.
 * @param {string} cardTransactionId
 * @returns {Promise<Story>}
 */
async function read(cardTransactionId) {
  const party = frame.party()
  /** @type {Purchase} */
  const purchase = await frame.host.call('get_card_transaction', { cardTransactionId, ...party })
  const cardId = purchase.relationships.agentCard.data?.id
  if (cardId === undefined) return { purchase, card: undefined, refunds: [] }
  if (knownCard?.id !== cardId) knownCard = await frame.host.call('get_agent_card', { cardId, ...party })
  return { purchase, card: knownCard, refunds: await refundsOf(purchase, cardId) }
}

/**
 * Returns the refunds of a purchase, oldest first. Reads them again only if the refunded total has changed.
 * @param {Purchase} purchase
 * @param {string} cardId
 */
async function refundsOf({ id: purchaseId, attributes: { refunded: cents } }, cardId) {
  if (cents === 0) return []
  if (knownRefunds.purchaseId === purchaseId && knownRefunds.cents === cents) return knownRefunds.list
  const filter = { cardId, limit: maxTransactions, ...frame.party() }
  /** @type {Purchase[]} */
  const transactions = await frame.host.call('list_card_transactions', filter)
  const list = transactions.filter(({ relationships }) => relationships.purchase.data?.id === purchaseId).reverse()
  knownRefunds = { purchaseId, cents, list }
  return list
}

/**
 * Returns the pause before the next read, in milliseconds; undefined if nothing can change.
 * @param {Story} shown
 */
function pauseMs({ purchase: { attributes } }) {
  if (attributes.status === 'authorized') return 3000
  return attributes.captured > attributes.refunded ? 10_000 : undefined
}

/**
 * Describes the changes, for a screen reader; returns an empty string if there are no changes.
 * @param {Story} before
 * @param {Story} after
 */
function news({ purchase: before }, { purchase: { attributes } }) {
  const changed = ['status', 'held', 'captured', 'refunded'].some(
    (name) => Reflect.get(before.attributes, name) !== Reflect.get(attributes, name),
  )
  if (!changed) return ''
  const { held, captured, refunded, currency } = attributes
  const amounts = [`held ${money(held, currency)}`, `captured ${money(captured, currency)}`]
  return `${purchaseState(attributes).text}: ${amounts.join(', ')}, refunded ${money(refunded, currency)}.`
}

/**
 * Renders the purchase.
 * @param {Story} shown
 */
function render(shown) {
  story = shown
  const { purchase, card } = shown
  const { attributes } = purchase
  const { merchant, amount: cents, currency, held, captured, refunded } = attributes
  const state = purchaseState(attributes)
  writeHead(`${money(cents, currency)} at ${merchant.name}`, state)
  const amounts = Object.entries({ Held: held, Captured: captured, Refunded: refunded })
  replace(
    'amounts',
    amounts.map(([word, value]) =>
      make('div', [make('dt', word), make('dd', money(value, currency))], value === 0 ? 'box none' : 'box'),
    ),
  )
  replace('timeline', eventsOf(shown).map(eventItem))
  writeFacts('facts', {
    Agent: attributes.agentId ?? 'None (a person or an API key made the purchase)',
    Run: attributes.instanceId,
    Purchase: purchase.id,
    Card: card?.id,
  })
  for (const id of ['story', 'about']) byId(id, HTMLElement).hidden = false
  renderActions(attributes)
}

/**
 * Shows the buttons for the simulations that the purchase's status allows, and hides the others.
 * @param {Purchase['attributes']} purchase
 */
function renderActions({ status, amount: cents, captured, refunded, currency }) {
  const open = status === 'authorized'
  const maxCents = open ? cents : captured - refunded
  const section = byId('sandbox', HTMLElement)
  const offered = frame.maySimulate() && maxCents > 0
  if (offered) {
    const most = money(maxCents, currency)
    const hint = open
      ? `Up to ${most}. A smaller amount captures part of the hold and releases the rest.`
      : `Up to ${most} can be refunded.`
    amount.suggest({ suggestedCents: maxCents, maxCents, currency, hint })
    write('amount-label', open ? 'Amount to capture in USD' : 'Amount to refund in USD')
  }
  // While an action runs, its progress text on the pressed button must not be overwritten.
  if (frame.busy()) return
  toggle(section, offered)
  for (const name of /** @type {const} */ (['capture', 'reverse', 'expire'])) toggle(buttons[name], open)
  toggle(buttons.refund, !open)
  labelButtons()
}

/**
 * Shows or hides an element.
 * @param {HTMLElement} element
 * @param {boolean} visible
 */
function toggle(element, visible) {
  if (visible) element.hidden = false
  else hide(element)
}

/** Writes the entered amount on the Capture and Refund buttons. */
function labelButtons() {
  if (story === undefined || frame.busy()) return
  const { amount: whole, currency } = story.purchase.attributes
  const cents = amount.cents()
  const words = cents === undefined ? '' : ` ${money(cents, currency)}`
  buttons.capture.textContent = `${cents !== undefined && cents < whole ? 'Capture part:' : 'Capture'}${words}`
  buttons.refund.textContent = `Refund${words}`
}

/**
 * Simulates a capture or a refund of the entered amount.
 * @param {HTMLButtonElement} button
 * @param {string} label the button's text during the call
 * @param {'simulate_card_capture' | 'simulate_card_refund'} tool
 */
function moveMoney(button, label, tool) {
  if (story === undefined) return
  const cents = amount.cents()
  if (cents === undefined) return showProblem(amount.problem())
  const { id: cardTransactionId, attributes } = story.purchase
  frame.act(button, label, tool, { cardTransactionId, amount: cents, currency: attributes.currency, ...frame.party() })
}

/**
 * Releases the hold by simulating a reversal or an expiration.
 * @param {HTMLButtonElement} button
 * @param {string} label the button's text during the call
 * @param {'simulate_card_reversal' | 'simulate_card_expiration'} tool
 */
function endHold(button, label, tool) {
  if (story === undefined) return
  const { id: cardTransactionId } = story.purchase
  const ended = () => {
    release = { purchaseId: cardTransactionId, reason: releases[tool] }
  }
  frame.act(button, label, tool, { cardTransactionId, ...frame.party() }, ended)
}

/**
 * Returns the events of the purchase, oldest first. The last may be the future expiration of the hold.
 * @param {Story} story
 * @returns {Event[]}
 */
function eventsOf({ purchase: { id, attributes: purchase }, card, refunds }) {
  const dollars = (/** @type {number} */ cents) => money(cents, purchase.currency)
  /** @type {Event[]} */
  const events = []
  if (card !== undefined) {
    const { merchant, maximumAmount, createdAt } = card.attributes
    const detail = `It allows one purchase at ${merchant.name} of at most ${dollars(maximumAmount)}.`
    events.push({ title: 'Card issued', detail, at: createdAt, tone: 'over' })
  }
  if (purchase.decline !== null) {
    const title = `Declined: ${dollars(purchase.amount)}`
    events.push({ title, detail: purchase.decline.detail, at: purchase.createdAt, tone: 'bad', cause: purchase })
    return events
  }
  const title = `Authorized: ${dollars(purchase.amount)}`
  events.push({ title, detail: 'The amount was put on hold.', at: purchase.createdAt, tone: 'open', cause: purchase })
  // Until the first refund, `updatedAt` is the time of the capture or release. A refund overwrites this time.
  const at = purchase.refunded === 0 ? purchase.updatedAt : null
  if (purchase.status === 'reversed') {
    const detail = release.purchaseId === id ? release.reason : releases.unknown
    events.push({ title: 'Hold released', detail, at, tone: 'over' })
  }
  if (purchase.captured > 0) {
    const rest = purchase.amount - purchase.captured
    const detail = rest === 0 ? 'The whole hold was captured.' : `The rest of the hold, ${dollars(rest)}, was released.`
    events.push({ title: `Captured: ${dollars(purchase.captured)}`, detail, at, tone: 'good' })
  }
  const listed = refunds.reduce((sum, { attributes }) => sum + attributes.amount, 0)
  if (listed < purchase.refunded) {
    const unlisted = dollars(purchase.refunded - listed)
    events.push({ title: `Refunded${listed === 0 ? '' : ' earlier'}: ${unlisted}`, detail: '', tone: 'over' })
  }
  for (const { attributes } of refunds) {
    const refunded = `Refunded: ${dollars(attributes.amount)}`
    events.push({ title: refunded, detail: '', at: attributes.createdAt, tone: 'over', cause: attributes })
  }
  if (purchase.holdExpiresAt !== null && purchase.held > 0) {
    const detail = 'It expires then unless the purchase is captured or reversed first.'
    events.push({ title: 'The hold expires', detail, at: purchase.holdExpiresAt, tone: 'ahead' })
  }
  return events
}

/**
 * Creates the list item of an event.
 * @param {Event} event
 */
function eventItem({ title, detail, at, tone, cause }) {
  const parts = [make('strong', title)]
  if (at) {
    const time = make('time', timeIn(at, frame.host.context().timeZone))
    time.setAttribute('datetime', at)
    parts.push(time)
  }
  if (detail !== '') parts.push(make('span', detail))
  const run = cause?.instanceId ?? null
  if (run !== null) parts.push(make('span', `${cause?.agentId === null ? 'Run' : 'Agent’s run'}: ${run}`, 'aside'))
  return make('li', parts, tone)
}
