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

/** Longer than a double click takes, so that its second click meets a button that is disabled. */
const leastPayingMs = 500

/** Shows the service that a repeat comes from the browser that paid. */
const payerKey = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
  byte.toString(16).padStart(2, '0'),
).join('')

addEventListener('message', receive)

/**
 * The page around gives the secret, once, and a channel to answer on.
 * @param {MessageEvent} event
 */
function receive({ source, origin, data, ports }) {
  const [port] = ports
  if (source !== parent || parent === window || typeof data?.clientSecret !== 'string' || port === undefined) return
  removeEventListener('message', receive)
  new ResizeObserver(() => port.postMessage({ height: document.documentElement.offsetHeight })).observe(document.body)
  // The service's own page says above the form what is paid; another page can't be trusted to.
  start(data.clientSecret, port, origin !== location.origin)
}

/**
 * @param {string} clientSecret
 * @param {MessagePort} port
 * @param {boolean} summarize
 */
async function start(clientSecret, port, summarize) {
  /** @type {Answer} */
  let session
  try {
    session = await ask('session', { clientSecret })
  } catch (error) {
    waiting.textContent = messageOf(error)
    if (error instanceof Refusal && error.status === 404) port.postMessage({ result: 'ended', detail: error.message })
    return
  }
  const { words } = session
  waiting.hidden = true
  fill(words)
  byId('summary', HTMLElement).hidden = !summarize
  document.body.classList.toggle('guest', summarize)
  if (words.state !== 'open') return settle(session)
  form.hidden = false
  let paying = false
  watch(3000, async () => (paying ? 'again' : look()))

  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (paying) return
    paying = true
    payButton.disabled = true
    payButton.textContent = 'Paying…'
    clearProblems()
    await pay()
    paying = false
    payButton.disabled = false
    payButton.textContent = words.button
  })

  async function pay() {
    try {
      const [answer] = await Promise.all([ask('pay', { clientSecret, payerKey, ...typed() }), pause(leastPayingMs)])
      if (answer.result === 'declined') problem.textContent = answer.detail
      else end(answer.words, answer.result === 'agreement_failed' ? answer.detail : undefined)
      const { result, detail, manageToken } = answer
      // The page of a merchant gets no way to manage what the payer agreed to: the payer gets it here.
      const own = summarize || manageToken === null ? {} : { manageToken }
      if (summarize && manageToken !== null) showManageLink(manageToken)
      port.postMessage({ result, detail, ...own })
    } catch (error) {
      showProblem(error)
      // Ended while the payer typed: what became of it is read anew.
      paying = false
      if (error instanceof Refusal && error.status === 409) await look()
    }
  }

  /** @returns {Promise<'again' | 'enough'>} */
  async function look() {
    if (!form.isConnected) return 'enough'
    const answer = await ask('session', { clientSecret }).catch(() => undefined)
    // A payment that began meanwhile may be what ended it: its own answer tells.
    if (answer === undefined || answer.words.state === 'open' || paying) return 'again'
    if (form.isConnected) settle(answer)
    return 'enough'
  }

  /**
   * It ended elsewhere: in another tab, by the merchant, or by time.
   * @param {Answer} answer
   */
  function settle({ status, words: ended }) {
    end(ended)
    const detail = ended.outcome?.lines.join(' ') ?? ''
    port.postMessage({ result: status === 'canceled' ? 'ended' : 'paid', detail })
  }
}

/** @param {Words} words */
function fill(words) {
  for (const id of /** @type {const} */ (['price', 'merchant', 'description', 'schedule', 'agreement'])) {
    byId(id, HTMLElement).textContent = words[id]
  }
  byId('tax', HTMLElement).textContent = words.tax
  payButton.textContent = words.button
}

/**
 * The form's part is over: what was typed goes with it.
 * @param {Words} words
 * @param {string} [detail]
 */
function end(words, detail) {
  form.remove()
  if (words.state === 'over') byId('summary', HTMLElement).hidden = true
  showOutcome(words, detail)
}

/** @param {string} manageToken */
function showManageLink(manageToken) {
  const link = Object.assign(document.createElement('a'), {
    href: `/checkout/manage/${manageToken}`,
    target: '_blank',
    rel: 'noopener noreferrer',
    textContent: 'Your page to stop future payments: keep its address',
  })
  const line = document.createElement('p')
  line.append(link)
  byId('outcome', HTMLElement).append(line)
}

/** @param {unknown} error */
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

/** @param {HTMLInputElement} input */
function clearProblem(input) {
  input.removeAttribute('aria-invalid')
  byId(`${input.id}-error`, HTMLElement).textContent = ''
}

function typed() {
  return { number: fields.number.value, expiry: fields.expiry.value, cvv: fields.cvv.value }
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Refusal ? error.message : 'Something went wrong. Reload the page and try again.'
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

for (const input of Object.values(fields)) input.addEventListener('input', () => clearProblem(input))

fields.number.addEventListener('change', () => {
  fields.number.value = grouped(fields.number.value)
})

// The numeric keyboard of a phone has no slash.
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
  fields.number.value = grouped(number)
  fields.expiry.value = '12/34'
  fields.cvv.value = '123'
  payButton.focus()
})

/** @param {string} number */
function grouped(number) {
  return number.replace(/\D/g, '').replace(/(\d{4})(?=\d)/g, '$1 ')
}
