import { Refusal } from './answers.js'
import { byId, write } from './elements.js'

/** Longer than a double click takes, so that its second click meets buttons that rest. */
const leastMs = 500

/**
 * What buttons do: one thing at a time, with one key for a thing and its repetitions.
 * @param {{ call(name: string, input: Record<string, unknown>): Promise<any> }} host
 * @param {() => void} onRest called when the buttons may be pressed again
 */
export function createActions(host, onRest) {
  let busy = false
  /** The call whose outcome is not known, and the key that it was sent with. */
  let open = { call: '', idempotencyKey: '' }

  /**
   * @param {HTMLButtonElement} button
   * @param {string} doing what the button says meanwhile
   * @param {() => Promise<void>} work
   */
  async function press(button, doing, work) {
    if (busy) return
    busy = true
    const label = button.textContent
    // Not `disabled`, which would take the focus away.
    rest(true)
    button.textContent = doing
    tell('')
    const least = new Promise((resolve) => setTimeout(resolve, leastMs))
    try {
      await work()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      tell(`${sentence(error.message)} ${error.advice}`.trim())
    } finally {
      await least
      busy = false
      button.textContent = label
      rest(false)
      onRest()
    }
  }

  /**
   * Calls a tool that changes something.
   * @param {string} name
   * @param {Record<string, unknown>} input
   */
  async function change(name, input) {
    const call = JSON.stringify([name, input])
    if (open.call !== call) open = { call, idempotencyKey: newKey() }
    try {
      const data = await host.call(name, { ...input, idempotencyKey: open.idempotencyKey })
      open.call = ''
      return data
    } catch (error) {
      if (!(error instanceof Refusal) || !error.keepsKey) open.call = ''
      throw error
    }
  }

  return { press, change, busy: () => busy }
}

/**
 * Says what went wrong, at once where a screen reader is used.
 * @param {string} problem
 */
export function tell(problem) {
  write('problem', problem)
}

/** @param {boolean} resting */
function rest(resting) {
  for (const button of document.querySelectorAll('button')) button.ariaDisabled = resting ? 'true' : null
}

/**
 * Leaves a button that is about to go, so that the focus is not lost with it.
 * @param {HTMLElement} element
 */
export function hide(element) {
  if (element.hidden) return
  if (element.contains(document.activeElement)) byId('title', HTMLElement).focus()
  element.hidden = true
}

/** @param {string} text */
function sentence(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Not `randomUUID`, which a page without a secure origin does not have. */
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `view_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
