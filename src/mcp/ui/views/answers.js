/** @typedef {{ type?: string, text?: string }} Content */
/** @typedef {{ isError?: boolean, content?: Content[], structuredContent?: { data?: unknown } }} ToolResult */

/** A tool's refusal, worded for a person. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {{ advice?: string, outcomeKnown?: boolean, keepsKey?: boolean }} [more] outcomeKnown: the call had no effect for
   *   sure; keepsKey: the next try must use the same idempotency key
   */
  constructor(message, { advice = '', outcomeKnown = true, keepsKey = !outcomeKnown } = {}) {
    super(message)
    this.advice = advice
    this.outcomeKnown = outcomeKnown
    this.keepsKey = keepsKey
  }
}

/** The advice for a person about each error code of the API or the server. */
const advice = /** @type {Record<string, string>} */ ({
  card_purchase_simulation_not_allowed: 'It has changed in the meantime. This is its current state.',
  conflict: 'It has changed in the meantime. This is its current state.',
  invalid_value: 'Correct it and try again.',
  forbidden: 'Ask the owner of the account.',
  unauthenticated: 'Sign in again, or give the server a valid key.',
  not_found: 'It may belong to another account.',
  mfa_required: 'Do that, then press the button again.',
  confirmation_declined: '',
  confirmation_not_shown: 'Press the button to be asked again.',
  confirmation_unavailable: 'Decide it in the dashboard of the payments account.',
  verification_declined: 'Press the button to be asked again.',
  rate_limited: 'Wait a moment, then press the button again.',
})

/** Statuses that leave the outcome unknown, or that ask the caller to repeat the request unchanged. */
const unsettledStatuses = [408, 425, 429, 502, 503, 504]

/**
 * Returns the resource or the list in a tool's result. The text of a result is for the model.
 * @param {ToolResult} result
 * @returns {any}
 * @throws {Refusal}
 */
export function dataOf(result) {
  const text = result.content?.find(({ type }) => type === 'text')?.text ?? ''
  // An error is a sentence followed by its fields as JSON on the last line.
  if (result.isError === true) throw refusalOf(jsonOf(text.slice(text.lastIndexOf('\n') + 1))?.error, text)
  const data = result.structuredContent?.data
  if (data === undefined) throw new Refusal(text || 'The tool returned nothing.')
  return data
}

/**
 * Creates the refusal for an error of a tool, with advice.
 * @param {{ code?: unknown, status?: unknown, detail?: unknown, idempotencyKey?: unknown } | undefined} error
 * @param {string} text
 */
function refusalOf(error, text) {
  if (typeof error?.detail !== 'string') return new Refusal(text || 'The tool failed.', { advice: 'Try again.' })
  const repeat = unsettledStatuses.includes(Number(error.status))
  const known = advice[String(error.code)] ?? (repeat ? repeatAdvice : 'Try again.')
  // The error contains the key if only an unchanged repeat is safe: a conflict may be with this same call, which still
  // runs.
  const keepsKey = repeat || error.idempotencyKey !== undefined
  return new Refusal(error.detail, { outcomeKnown: !repeat, keepsKey, advice: known })
}

/** The advice when the outcome is unknown: the next press sends the same key. */
export const repeatAdvice = 'Press the button again. Nothing is done twice.'

/**
 * Parses JSON. Returns undefined for other texts.
 * @param {string} text
 */
function jsonOf(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
