import { Refusal } from './answers.js'
import { byId, write } from './elements.js'

/** The shortest time that buttons stay disabled. It is longer than a double-click, so the second click does nothing. */
const minBusyMs = 500

/**
 * Creates the handler for button actions. The handler runs one action at a time. If the person repeats a call whose
 * outcome is unknown, the handler sends the same idempotency key.
 * @param {{ call(name: string, input: Record<string, unknown>): Promise<any> }} host
 * @param {() => void} onIdle called when the buttons are enabled again
 */
export function createActions(host, onIdle) {
  let busy = false
  /** The call whose outcome is not known, with its idempotency key. If there is no such call, `call` is empty. */
  let unresolvedCall = { call: '', idempotencyKey: '' }

  /**
   * Disables all buttons, runs an action, and enables the buttons again.
   * @param {HTMLButtonElement} button
   * @param {string} busyLabel the button's label while the action runs
   * @param {() => Promise<void>} work
   */
  async function press(button, busyLabel, work) {
    if (busy) return
    busy = true
    const label = button.textContent
    setButtonsDisabled(true)
    button.textContent = busyLabel
    showProblem('')
    const minWait = new Promise((resolve) => setTimeout(resolve, minBusyMs))
    try {
      await work()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      showProblem(`${withFinalPeriod(error.message)} ${error.advice}`.trim())
    } finally {
      await minWait
      busy = false
      button.textContent = label
      setButtonsDisabled(false)
      onIdle()
    }
  }

  /**
   * Calls a tool that makes a change.
   * @param {string} name
   * @param {Record<string, unknown>} input
   */
  async function change(name, input) {
    const call = JSON.stringify([name, input])
    if (unresolvedCall.call !== call) unresolvedCall = { call, idempotencyKey: newKey() }
    try {
      const data = await host.call(name, { ...input, idempotencyKey: unresolvedCall.idempotencyKey })
      unresolvedCall.call = ''
      return data
    } catch (error) {
      if (!(error instanceof Refusal) || !error.keepsKey) unresolvedCall.call = ''
      throw error
    }
  }

  return { press, change, busy: () => busy }
}

/**
 * Shows a problem; a screen reader announces it immediately.
 * @param {string} problem
 */
export function showProblem(problem) {
  write('problem', problem)
}

/**
 * Disables or enables all buttons. Sets `aria-disabled`, because `disabled` would take the focus away from a button.
 * @param {boolean} disabled
 */
function setButtonsDisabled(disabled) {
  for (const button of document.querySelectorAll('button')) button.ariaDisabled = disabled ? 'true' : null
}

/**
 * Hides an element. If it contains the focus, the focus moves to the title first.
 * @param {HTMLElement} element
 */
export function hide(element) {
  if (element.hidden) return
  if (element.contains(document.activeElement)) byId('title', HTMLElement).focus()
  element.hidden = true
}

/**
 * Adds a period if the text does not end with punctuation.
 * @param {string} text
 */
function withFinalPeriod(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Creates an idempotency key. We avoid `randomUUID` because browsers provide it only in secure contexts. */
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `view_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
