import { ask, byId, Refusal, showOutcome, watch } from './requests.js'

/** @typedef {import('./requests.js').Words} Words */
/** @typedef {{ result: string, detail: string, manageToken?: string }} Result */
/** @typedef {{ form(options: { clientSecret: string, onResult(result: Result): void }): { mount(target: Element): void } }} Library */

const main = /** @type {HTMLElement} */ (document.querySelector('main'))
const clientSecret = main.dataset.clientSecret ?? ''
/** The token with which the payer can stop the payments; undefined if this browser has none. */
let manageToken = main.dataset.manageToken
delete main.dataset.clientSecret
delete main.dataset.manageToken
const outcome = byId('outcome', HTMLElement)
const stopButton = byId('stop', HTMLButtonElement)
const problem = byId('problem', HTMLElement)
const dialog = /** @type {HTMLDialogElement} */ (document.querySelector('dialog'))

/** The currently shown state of the checkout. */
let shown = 'open'

const form = document.getElementById('form')
if (form !== null) {
  const { Payments } = /** @type {{ Payments: Library }} */ (/** @type {unknown} */ (window))
  Payments.form({ clientSecret, onResult: finish }).mount(form)
} else if (!stopButton.hidden) {
  pollSession()
}

stopButton.addEventListener('click', () => dialog.showModal())
byId('stop-no', HTMLButtonElement).addEventListener('click', () => dialog.close())
byId('stop-yes', HTMLButtonElement).addEventListener('click', stop)

/**
 * Shows the result of the form on the page. Ignores a declined card, because the form itself reports it.
 * @param {Result} result
 */
async function finish({ result, detail, manageToken: newToken }) {
  if (result === 'declined') return
  if (newToken !== undefined) {
    manageToken = newToken
    // At this address, a reload or a bookmark opens the page where the payer can stop the payments.
    history.replaceState(null, '', `/checkout/manage/${newToken}`)
  }
  try {
    const { words } = await ask('session', sessionSecret())
    show(words, result === 'agreement_failed' ? detail : undefined)
    if (words.state === 'paid') pollSession()
  } catch {
    // The session could not be read, so the page shows the form's own explanation of the result.
    problem.textContent = detail
  }
}

async function stop() {
  dialog.close()
  stopButton.disabled = true
  problem.textContent = ''
  try {
    const { words } = await ask('stop', { manageToken: manageToken ?? '' })
    show(words, 'Future payments are stopped. Your card will not be charged again.')
  } catch (error) {
    problem.textContent = error instanceof Refusal ? error.message : 'The payments could not be stopped. Try again.'
  }
  stopButton.disabled = false
}

/**
 * Returns the secret to send with a request: the manage token if this browser has one, otherwise the client secret.
 * @returns {Record<string, string>}
 */
function sessionSecret() {
  return manageToken === undefined ? { clientSecret } : { manageToken }
}

/** Polls the session, so that the page also shows later changes to a paid subscription. */
function pollSession() {
  watch(15_000, async () => {
    const { words } = await ask('session', sessionSecret()).catch(() => ({ words: undefined }))
    if (words === undefined) return 'again'
    if (words.outcome?.heading !== outcome.querySelector('h2')?.textContent && shown !== 'over') show(words)
    return words.state === 'over' ? 'enough' : 'again'
  })
}

/**
 * Shows the outcome. Does nothing while the session is open.
 * @param {Words} words
 * @param {string} [detail] The text to show instead of the outcome's lines.
 */
function show(words, detail) {
  if (words.outcome === null) return
  shown = words.state
  document.title = words.title
  form?.remove()
  byId('terms', HTMLElement).hidden = words.state === 'over'
  byId('now', HTMLElement).hidden = true
  byId('expires', HTMLElement).hidden = true
  byId('schedule', HTMLElement).textContent = words.schedule
  stopButton.hidden = !words.mayStop || manageToken === undefined
  byId('manage', HTMLElement).hidden = stopButton.hidden
  showOutcome(words, detail)
  outcome.querySelector('h2')?.focus()
}
