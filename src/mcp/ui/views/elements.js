/**
 * Returns the element with the given id.
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind the expected class
 * @returns {Kind}
 */
export function byId(id, kind) {
  const element = document.getElementById(id)
  if (!(element instanceof kind)) throw new Error(`Bug: no ${kind.name} has the id ${id}.`)
  return element
}

/**
 * Sets an element's text, but only if the text changes, so that a screen reader does not announce it twice.
 * @param {string} id
 * @param {string} text
 */
export function write(id, text) {
  const element = byId(id, HTMLElement)
  if (element.textContent !== text) element.textContent = text
}

/**
 * Creates an element. A string becomes text, never markup, because it may contain a name that a stranger chose.
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
 * Sets the view's title and the state next to it.
 * @param {string} title
 * @param {{ text: string, tone: string }} state
 */
export function writeHead(title, { text, tone }) {
  write('title', title)
  write('state', text)
  Object.assign(byId('state', HTMLElement), { hidden: false, className: `state ${tone}` })
}

/**
 * Shows facts as rows of a description list, and leaves out facts without a value.
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
 * Replaces an element's children if the new ones differ.
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
 * Formats whole cents with a currency sign. The formatter gets a decimal string, so nothing is rounded.
 * @param {number} cents
 * @param {string} currency
 */
export function money(cents, currency) {
  const amount = /** @type {`${number}`} */ (decimal(cents))
  return new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(amount)
}

/**
 * Formats whole cents as a decimal number, such as `12.50`.
 * @param {number} cents
 */
export function decimal(cents) {
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/**
 * Parses a typed amount into cents; returns undefined if it is malformed.
 * @param {string} typed
 */
export function centsOf(typed) {
  const found = /^\s*\$?\s*(\d{1,9})(?:\.(\d{1,2}))?\s*$/.exec(typed)
  if (found === null) return undefined
  return Number(found[1]) * 100 + Number((found[2] ?? '').padEnd(2, '0'))
}

/**
 * Formats a timestamp in the person's time zone.
 * @param {string} timestamp
 * @param {string | undefined} timeZone the host's time zone; if it is missing or unsupported, the browser's is used
 */
export function timeIn(timestamp, timeZone) {
  const style = /** @type {const} */ ({ dateStyle: 'medium', timeStyle: 'short' })
  const zone = timeZone !== undefined && supportsTimeZone(timeZone) ? { timeZone } : {}
  return new Intl.DateTimeFormat('en-US', { ...style, ...zone }).format(new Date(timestamp))
}

/**
 * Returns whether the browser supports a time zone.
 * @param {string} timeZone
 */
function supportsTimeZone(timeZone) {
  try {
    return Boolean(new Intl.DateTimeFormat('en-US', { timeZone }))
  } catch {
    return false
  }
}
