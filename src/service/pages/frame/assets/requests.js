/** The error for a request that the service refused or could not answer. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {{ detail?: string, source?: { pointer?: string } } | undefined} error
   */
  constructor(status, error) {
    super(error?.detail ?? 'The service failed unexpectedly. Try again in a moment.')
    this.status = status
    this.field = error?.source?.pointer?.match(/^\/data\/attributes\/(\w+)$/)?.[1]
  }
}

/** @typedef {import('../../checkout/words.ts').CheckoutWords} Words */
/** @typedef {import('../../checkout/checkout.ts').CheckoutSession & import('../../checkout/checkout.ts').PaymentResult & { words: Words }} Answer */

/**
 * Sends a request to the service. The secret and the card data are in the body, never in the address.
 * @param {'session' | 'pay' | 'stop'} action
 * @param {Record<string, string>} attributes
 * @returns {Promise<Answer>} Only `pay` sets the fields of `PaymentResult`.
 * @throws {Refusal} If the service refuses the request, fails or cannot be reached.
 */
export async function ask(action, attributes) {
  const response = await post(action, JSON.stringify({ data: { attributes } }))
  const body = await response.json().catch(() => ({}))
  if (!response.ok) throw new Refusal(response.status, body.errors?.[0])
  return body.data.attributes
}

/**
 * Sends a request. Throws a `Refusal` if the connection fails or times out.
 * @param {string} action
 * @param {string} body
 */
async function post(action, body) {
  try {
    return await fetch(`/checkout/${action}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      credentials: 'omit',
      signal: AbortSignal.timeout(30_000),
      body,
    })
  } catch {
    throw new Refusal(0, { detail: 'The service can’t be reached. Check your connection and try again.' })
  }
}

/**
 * Calls `look` every `ms` milliseconds while the page is visible, until `look` returns `enough`.
 * @param {number} ms
 * @param {() => Promise<'again' | 'enough'>} look
 */
export function watch(ms, look) {
  const timer = setInterval(async () => {
    if (document.visibilityState === 'visible' && (await look()) === 'enough') clearInterval(timer)
  }, ms)
}

/**
 * Returns the element with the given id.
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind The class that the element must have.
 * @returns {Kind}
 */
export function byId(id, kind) {
  const element = document.getElementById(id)
  if (!(element instanceof kind)) throw new Error(`Bug: the page has no ${kind.name} with the id ${id}.`)
  return element
}

/**
 * Shows the outcome of the checkout in a section that screen readers announce.
 * @param {Words} words
 * @param {string} [detail] The text to show instead of the outcome's lines.
 */
export function showOutcome({ outcome }, detail) {
  if (outcome === null) return
  const section = byId('outcome', HTMLElement)
  const heading = Object.assign(document.createElement('h2'), { textContent: outcome.heading, tabIndex: -1 })
  const lines = detail === undefined ? outcome.lines : [detail]
  section.replaceChildren(
    heading,
    ...lines.map((text) => Object.assign(document.createElement('p'), { textContent: text })),
  )
}
