/**
 * Returns the element with an id.
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind the expected class
 * @returns {Kind}
 */
export function byId(id, kind) {
  const element = document.getElementById(id)
  if (!(element instanceof kind)) throw new Error(`Bug: there is no ${kind.name} ${id}.`)
  return element
}

/**
 * Sets the text of the element with an id. Unchanged text is not written, so that a screen reader does not repeat it.
 * @param {string} id
 * @param {string} text
 */
export function write(id, text) {
  const element = byId(id, HTMLElement)
  if (element.textContent !== text) element.textContent = text
}

/**
 * Creates an element. Its content is always text, never markup: merchants and payees choose their own names.
 * @param {string} name
 * @param {string | Node[]} content
 * @param {string} [className]
 */
export function make(name, content, className = '') {
  const element = document.createElement(name)
  element.className = className
  element.append(...(typeof content === 'string' ? [content] : content))
  return element
}

/**
 * Shows the view's subject and its state.
 * @param {string} title
 * @param {{ text: string, tone: string }} state
 */
export function writeHead(title, { text, tone }) {
  write('title', title)
  write('state', text)
  Object.assign(byId('state', HTMLElement), { hidden: false, className: `state ${tone}` })
}

/**
 * Shows facts as rows of a description list; facts without a value are left out.
 * @param {string} id
 * @param {Record<string, string | null | undefined>} facts
 */
export function writeFacts(id, facts) {
  const rows = Object.entries(facts).flatMap(([name, value]) => (value ? [[make('dt', name), make('dd', value)]] : []))
  replace(
    id,
    rows.map((row) => make('div', row)),
  )
}

/**
 * Replaces the content of the element with an id, if it differs.
 * @param {string} id
 * @param {HTMLElement[]} children
 */
export function replace(id, children) {
  const element = byId(id, HTMLElement)
  const same =
    element.children.length === children.length &&
    children.every((child, at) => child.isEqualNode(element.children[at] ?? null))
  if (!same) element.replaceChildren(...children)
}

/**
 * Formats whole cents as an amount. The formatter gets a decimal string, so nothing is rounded.
 * @param {number} cents
 * @param {string} currency
 */
export function money(cents, currency) {
  const amount = /** @type {`${number}`} */ (decimal(cents))
  return new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(amount)
}

/**
 * Formats whole cents as a person would type them: `12.50`.
 * @param {number} cents
 */
export function decimal(cents) {
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/**
 * Parses a typed amount to cents; undefined if it is not an amount.
 * @param {string} typed
 */
export function centsOf(typed) {
  const found = /^\s*\$?\s*(\d{1,9})(?:\.(\d{1,2}))?\s*$/.exec(typed)
  if (found === null) return undefined
  return Number(found[1]) * 100 + Number((found[2] ?? '').padEnd(2, '0'))
}

/**
 * Formats a time for the person's time zone.
 * @param {string} timestamp
 * @param {string | undefined} timeZone the host's, which may be more accurate than the browser's
 */
export function timeIn(timestamp, timeZone) {
  const style = /** @type {const} */ ({ dateStyle: 'medium', timeStyle: 'short' })
  const zone = timeZone !== undefined && supportsTimeZone(timeZone) ? { timeZone } : {}
  return new Intl.DateTimeFormat('en-US', { ...style, ...zone }).format(new Date(timestamp))
}

/**
 * Returns whether the browser knows a time zone.
 * @param {string} timeZone
 */
function supportsTimeZone(timeZone) {
  try {
    return Boolean(new Intl.DateTimeFormat('en-US', { timeZone }))
  } catch {
    return false
  }
}
