import { ask, byId, Refusal, showOutcome, watch } from './requests.js'

/** @typedef {import('./requests.js').Words} Words */
/** @typedef {{ result: string, detail: string }} Result */
/** @typedef {{ form(options: { clientSecret: string, onResult(result: Result): void }): { mount(target: Element): void } }} Library */

const main = /** @type {HTMLElement} */ (document.querySelector('main'))
const clientSecret = main.dataset.clientSecret ?? ''
delete main.dataset.clientSecret
const outcome = byId('outcome', HTMLElement)
const stopButton = byId('stop', HTMLButtonElement)
const problem = byId('problem', HTMLElement)
const dialog = /** @type {HTMLDialogElement} */ (document.querySelector('dialog'))

const form = document.getElementById('form')
if (form !== null) {
  const { Payments } = /** @type {{ Payments: Library }} */ (/** @type {unknown} */ (window))
  Payments.form({ clientSecret, onResult: finish }).mount(form)
} else if (!stopButton.hidden) {
  keepTrue()
}

stopButton.addEventListener('click', () => dialog.showModal())
byId('stop-no', HTMLButtonElement).addEventListener('click', () => dialog.close())
byId('stop-yes', HTMLButtonElement).addEventListener('click', stop)

/**
 * The form's part is over, unless the card was declined: then the form says so itself.
 * @param {Result} result
 */
async function finish({ result, detail }) {
  if (result === 'declined') return
  try {
    const { words } = await ask('session', { clientSecret })
    show(words, result === 'agreement_failed' ? detail : undefined)
    if (words.state === 'paid') keepTrue()
  } catch {
    // The form shows the result too.
    problem.textContent = detail
  }
}

async function stop() {
  dialog.close()
  stopButton.disabled = true
  problem.textContent = ''
  try {
    const { words } = await ask('stop', { clientSecret })
    show(words, 'Future payments are stopped. Your card will not be charged again.')
  } catch (error) {
    problem.textContent = error instanceof Refusal ? error.message : 'The payments could not be stopped. Try again.'
  }
  stopButton.disabled = false
}

/** Later changes of a paid subscription appear too, though nobody waits for them. */
function keepTrue() {
  watch(15_000, async () => {
    const { words } = await ask('session', { clientSecret }).catch(() => ({ words: undefined }))
    if (words === undefined) return 'again'
    if (words.outcome?.heading !== outcome.querySelector('h2')?.textContent && !stopButton.hidden) show(words)
    return words.state === 'over' ? 'enough' : 'again'
  })
}

/**
 * @param {Words} words
 * @param {string} [detail] says more about what just happened than the words
 */
function show(words, detail) {
  if (words.outcome === null) return
  document.title = words.title
  form?.remove()
  byId('terms', HTMLElement).hidden = words.state === 'over'
  byId('now', HTMLElement).hidden = true
  byId('expires', HTMLElement).hidden = true
  byId('schedule', HTMLElement).textContent = words.schedule
  stopButton.hidden = !words.mayStop
  showOutcome(words, detail)
  outcome.querySelector('h2')?.focus()
}
