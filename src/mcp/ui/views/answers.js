/** @typedef {{ type?: string, text?: string }} Content */
/** @typedef {{ isError?: boolean, content?: Content[], structuredContent?: { data?: unknown } }} ToolResult */

/** The failure of a call, with a message and advice for a person. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {{ advice?: string, mayHaveSucceeded?: boolean, keepsKey?: boolean }} [more] mayHaveSucceeded: the call may
   *   have had its effect; keepsKey: the next try must use the same idempotency key
   */
  constructor(message, { advice = '', mayHaveSucceeded = false, keepsKey = mayHaveSucceeded } = {}) {
    super(message)
    this.advice = advice
    this.mayHaveSucceeded = mayHaveSucceeded
    this.keepsKey = keepsKey
  }
}

/** The advice for a person, keyed by the error codes of the API and the MCP server. Other codes get general advice. */
const adviceByCode = /** @type {Record<string, string>} */ ({
  card_purchase_simulation_not_allowed: 'The state has changed in the meantime. You now see the current state.',
  conflict: 'The state has changed in the meantime. You now see the current state.',
  invalid_value: 'Correct the value and try again.',
  forbidden: 'Ask the account owner for permission.',
  unauthenticated: 'Sign in again, or configure the server with a valid key.',
  not_found: 'It may belong to another account.',
  mfa_required: 'Verify with your second factor, then press the button again.',
  confirmation_declined: '',
  confirmation_not_shown: 'Press the button to be asked again.',
  confirmation_unavailable: 'Make the decision in the dashboard of the payments account.',
  verification_declined: 'Press the button to be asked again.',
  rate_limited: 'Wait a moment, then press the button again.',
})

/** The HTTP statuses that settle nothing: either the outcome is unknown, or the same request must be repeated. */
const unsettledStatuses = [408, 425, 429, 502, 503, 504]

/**
 * Returns the resource or the list from the structured content of a tool's result.
 * @param {ToolResult} result
 * @returns {any}
 * @throws {Refusal}
 */
export function dataOf(result) {
  const text = result.content?.find(({ type }) => type === 'text')?.text ?? ''
  // The text of a failed call consists of a message and, on the last line, the error's fields as JSON.
  if (result.isError === true) throw refusalOf(jsonOf(text.slice(text.lastIndexOf('\n') + 1))?.error, text)
  const data = result.structuredContent?.data
  if (data === undefined) throw new Refusal(text || 'The tool returned nothing.')
  return data
}

/**
 * Creates the refusal for a tool's error. If the error has no detail, the result's whole text becomes the message.
 * @param {{ code?: unknown, status?: unknown, detail?: unknown, idempotencyKey?: unknown } | undefined} error
 * @param {string} text
 */
function refusalOf(error, text) {
  if (typeof error?.detail !== 'string') return new Refusal(text || 'The tool failed.', { advice: 'Try again.' })
  const mayHaveSucceeded = unsettledStatuses.includes(Number(error.status))
  const advice = adviceByCode[String(error.code)] ?? (mayHaveSucceeded ? unknownOutcome.advice : 'Try again.')
  // An error contains the idempotency key if the call can be repeated safely only with this key. For example, a second
  // try gets a conflict while the first try is still running.
  const keepsKey = mayHaveSucceeded || error.idempotencyKey !== undefined
  return new Refusal(error.detail, { mayHaveSucceeded, keepsKey, advice })
}

/** The options of a refusal that leaves the outcome unknown. The next try then sends the same idempotency key. */
export const unknownOutcome = { mayHaveSucceeded: true, advice: 'Press the button again. Nothing will happen twice.' }

/**
 * Parses JSON; returns undefined if the string is not JSON.
 * @param {string} text
 */
function jsonOf(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
