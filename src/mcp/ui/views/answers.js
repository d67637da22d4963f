/** @typedef {{ type?: string, text?: string }} Content */
/** @typedef {{ isError?: boolean, content?: Content[], structuredContent?: { data?: unknown } }} ToolResult */

/** What a tool refused, in words for a person. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {{ advice?: string, certain?: boolean, keepsKey?: boolean }} [more] certain: it did not happen; keepsKey:
   *   the next try is a repetition of this one
   */
  constructor(message, { advice = '', certain = true, keepsKey = !certain } = {}) {
    super(message)
    this.advice = advice
    this.certain = certain
    this.keepsKey = keepsKey
  }
}

/** What a person can do about an error of the API or of the server, by its code. */
const advice = /** @type {Record<string, string>} */ ({
  card_purchase_simulation_not_allowed: 'It changed meanwhile: this is how it stands now.',
  conflict: 'It changed meanwhile: this is how it stands now.',
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

/** Answers after which it is not known whether it happened, or which ask to be sent again as they were. */
const unsettled = [408, 425, 429, 502, 503, 504]

/**
 * What the tool answered: the resource or the list. Its text is for the model.
 * @param {ToolResult} result
 * @returns {any}
 * @throws {Refusal}
 */
export function dataOf(result) {
  const text = result.content?.find(({ type }) => type === 'text')?.text ?? ''
  // An error is a sentence, and its fields on the last line.
  if (result.isError === true) throw refusalOf(jsonOf(text.slice(text.lastIndexOf('\n') + 1))?.error, text)
  const data = result.structuredContent?.data
  if (data === undefined) throw new Refusal(text || 'The tool answered nothing.')
  return data
}

/**
 * @param {{ code?: unknown, status?: unknown, detail?: unknown, idempotencyKey?: unknown } | undefined} error
 * @param {string} text
 */
function refusalOf(error, text) {
  if (typeof error?.detail !== 'string') return new Refusal(text || 'The tool failed.', { advice: 'Try again.' })
  const repeat = unsettled.includes(Number(error.status))
  const known = advice[String(error.code)] ?? (repeat ? again : 'Try again.')
  // The error names the key where only an unchanged repeat is safe: a conflict may be with this very call, still running.
  const keepsKey = repeat || error.idempotencyKey !== undefined
  return new Refusal(error.detail, { certain: !repeat, keepsKey, advice: known })
}

/** The same key is sent again. */
export const again = 'Press the button again: nothing happens twice.'

/** @param {string} text */
function jsonOf(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
