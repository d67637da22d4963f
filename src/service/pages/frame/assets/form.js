import { ask, byId, Refusal, showOutcome, watch } from './requests.js'

/** @typedef {import('./requests.js').Words} Words */
/** @typedef {import('./requests.js').Answer} Answer */

const form = byId('card', HTMLFormElement)
const payButton = byId('pay', HTMLButtonElement)
const problem = byId('problem', HTMLElement)
const waiting = byId('waiting', HTMLElement)
const fields = {
  number: byId('number', HTMLInputElement),
  expiry: byId('expiry', HTMLInputElement),
  cvv: byId('cvv', HTMLInputElement),
}

/** The shortest time that the pay button stays disabled, so that a double click does not pay twice. */
const minPayingMs = 500

/**
 * A random key that this page sends with each payment. If the payer sends the same payment again, the key shows the
 * service that the request comes from the browser that paid.
 */
const payerKey = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
  byte.toString(16).padStart(2, '0'),
).join('')

addEventListener('message', receive)

/**
 * Receives, from the embedding page, the client secret and the channel for results. Ignores all later messages.
 * @param {MessageEvent} event
 */
function receive({ source, origin, data, ports }) {
  const [port] = ports
  if (source !== parent || parent === window || typeof data?.clientSecret !== 'string' || port === undefined) return
  removeEventListener('message', receive)
  new ResizeObserver(() => port.postMessage({ height: document.documentElement.offsetHeight })).observe(document.body)
  // The service's own page shows what is bought. If another site embeds the form, the form itself shows what is bought,
  // because the other site's page may not tell the truth.
  start(data.clientSecret, port, origin !== location.origin)
}

/**
 * Loads the checkout session and shows the form.
 * @param {string} clientSecret
 * @param {MessagePort} port
 * @param {boolean} summarize Whether the form shows what is bought.
 */
async function start(clientSecret, port, summarize) {
  try {
    const session = await ask('session', { clientSecret })
    waiting.hidden = true
    fill(session.words)
    byId('summary', HTMLElement).hidden = !summarize
    document.body.classList.toggle('guest', summarize)
    new Payment(clientSecret, port, summarize).begin(session)
  } catch (error) {
    waiting.textContent = messageOf(error)
    if (error instanceof Refusal && error.status === 404) port.postMessage({ result: 'ended', detail: error.message })
  }
}

/** Makes the first payment of a subscription: shows the form, pays, and reports the result to the embedding page. */
class Payment {
  /** @type {string} */
  #clientSecret
  /** @type {MessagePort} */
  #port
  /** @type {boolean} */
  #isGuest
  #paying = false

  /**
   * @param {string} clientSecret
   * @param {MessagePort} port
   * @param {boolean} isGuest Whether the form is on another site's page.
   */
  constructor(clientSecret, port, isGuest) {
    this.#clientSecret = clientSecret
    this.#port = port
    this.#isGuest = isGuest
  }

  /**
   * Shows the form, or the outcome if the session has ended.
   * @param {Answer} session
   */
  begin(session) {
    if (session.words.state !== 'open') return this.#showEnded(session)
    form.hidden = false
    watch(3000, async () => (this.#paying ? 'again' : this.#checkSession()))
    form.addEventListener('submit', async (event) => {
      event.preventDefault()
      if (this.#paying) return
      this.#paying = true
      payButton.disabled = true
      payButton.textContent = 'Paying…'
      clearProblems()
      await this.#pay()
      this.#paying = false
      payButton.disabled = false
      payButton.textContent = session.words.button
    })
  }

  async #pay() {
    const sent = { clientSecret: this.#clientSecret, payerKey, ...typedCard() }
    try {
      const [answer] = await Promise.all([ask('pay', sent), pause(minPayingMs)])
      const { result, detail, manageToken } = answer
      if (result === 'declined') problem.textContent = detail
      else end(answer.words, result === 'agreement_failed' ? detail : undefined)
      // A merchant's page does not get the token that can stop the payments. Instead, the form shows the payer a link
      // that contains the token.
      const own = this.#isGuest || manageToken === null ? {} : { manageToken }
      if (this.#isGuest && manageToken !== null) showManageLink(manageToken)
      this.#port.postMessage({ result, detail, ...own })
    } catch (error) {
      showProblem(error)
      // If the checkout ended while the payer was typing, the status is 409. The form then shows the outcome.
      this.#paying = false
      if (error instanceof Refusal && error.status === 409) await this.#checkSession()
    }
  }

  /** Shows the outcome if the checkout has ended elsewhere. @returns {Promise<'again' | 'enough'>} */
  async #checkSession() {
    if (!form.isConnected) return 'enough'
    const answer = await ask('session', { clientSecret: this.#clientSecret }).catch(() => undefined)
    // If a payment is in progress, its own response reports the outcome.
    if (answer === undefined || answer.words.state === 'open' || this.#paying) return 'again'
    if (form.isConnected) this.#showEnded(answer)
    return 'enough'
  }

  /**
   * Shows the outcome of a checkout that ended elsewhere: paid in another tab, canceled by the merchant, or expired.
   * @param {Answer} answer
   */
  #showEnded({ status, words }) {
    end(words)
    const detail = words.outcome?.lines.join(' ') ?? ''
    this.#port.postMessage({ result: status === 'canceled' ? 'ended' : 'paid', detail })
  }
}

/**
 * Shows the price, the merchant and the other texts of the session.
 * @param {Words} words
 */
function fill(words) {
  for (const id of /** @type {const} */ (['price', 'merchant', 'description', 'schedule', 'agreement'])) {
    byId(id, HTMLElement).textContent = words[id]
  }
  byId('tax', HTMLElement).textContent = words.tax
  payButton.textContent = words.button
}

/**
 * Removes the form with the typed card data, and shows the outcome.
 * @param {Words} words
 * @param {string} [detail]
 */
function end(words, detail) {
  form.remove()
  if (words.state === 'over') byId('summary', HTMLElement).hidden = true
  showOutcome(words, detail)
}

/**
 * Adds a link to the page where the payer can stop future payments.
 * @param {string} manageToken
 */
function showManageLink(manageToken) {
  const link = Object.assign(document.createElement('a'), {
    href: `/checkout/manage/${manageToken}`,
    target: '_blank',
    rel: 'noopener noreferrer',
    textContent: 'Open the page where you can stop future payments, and save its address',
  })
  const line = document.createElement('p')
  line.append(link)
  byId('outcome', HTMLElement).append(line)
}

/**
 * Shows an error below the field that it concerns, or above the pay button if it concerns no field.
 * @param {unknown} error
 */
function showProblem(error) {
  const field = error instanceof Refusal && error.field !== undefined && error.field in fields ? error.field : undefined
  if (field === undefined) {
    problem.textContent = messageOf(error)
    return
  }
  const input = fields[/** @type {keyof typeof fields} */ (field)]
  byId(`${field}-error`, HTMLElement).textContent = messageOf(error)
  input.setAttribute('aria-invalid', 'true')
  input.focus()
}

function clearProblems() {
  problem.textContent = ''
  for (const input of Object.values(fields)) clearProblem(input)
}

/**
 * Removes the error of a field.
 * @param {HTMLInputElement} input
 */
function clearProblem(input) {
  input.removeAttribute('aria-invalid')
  byId(`${input.id}-error`, HTMLElement).textContent = ''
}

function typedCard() {
  return { number: fields.number.value, expiry: fields.expiry.value, cvv: fields.cvv.value }
}

/**
 * Returns the message to show to the payer for an error.
 * @param {unknown} error
 */
function messageOf(error) {
  return error instanceof Refusal ? error.message : 'Something went wrong. Reload the page and try again.'
}

/**
 * Waits for `ms` milliseconds.
 * @param {number} ms
 */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

for (const input of Object.values(fields)) input.addEventListener('input', () => clearProblem(input))

fields.number.addEventListener('change', () => {
  fields.number.value = groupDigits(fields.number.value)
})

// Adds the slash to the expiration date, because a phone's numeric keyboard has none.
fields.expiry.addEventListener('input', (event) => {
  if (event instanceof InputEvent && event.inputType.startsWith('delete')) return
  const digits = fields.expiry.value
    .replace(/^([2-9]|1(?=\s*\/))/, '0$1')
    .replace(/\D/g, '')
    .slice(0, 6)
  fields.expiry.value = digits.length < 2 ? digits : `${digits.slice(0, 2)}/${digits.slice(2)}`
})

form.addEventListener('click', ({ target }) => {
  const number = target instanceof Element ? target.closest('button')?.dataset.number : undefined
  if (number === undefined) return
  clearProblems()
  fields.number.value = groupDigits(number)
  fields.expiry.value = '12/34'
  fields.cvv.value = '123'
  payButton.focus()
})

/**
 * Formats a card number in groups of four digits.
 * @param {string} number
 */
function groupDigits(number) {
  return number.replace(/\D/g, '').replace(/(\d{4})(?=\d)/g, '$1 ')
}
