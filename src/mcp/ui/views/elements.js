/**
 * The element with an id, of the kind that is expected there.
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 * @returns {Kind}
 */
export function byId(id, kind) {
  const element = document.getElementById(id)
  if (!(element instanceof kind)) throw new Error(`Bug: there is no ${kind.name} ${id}.`)
  return element
}

/**
 * Sets the text of the element with an id. Only a change is written: what did not change is not read out again.
 * @param {string} id
 * @param {string} text
 */
export function write(id, text) {
  const element = byId(id, HTMLElement)
  if (element.textContent !== text) element.textContent = text
}

/**
 * A new element. What it says is always text, never markup: merchants and payees name themselves.
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
 * Says what the view is about, and how that stands.
 * @param {string} title
 * @param {{ text: string, tone: string }} state
 */
export function writeHead(title, { text, tone }) {
  write('title', title)
  write('state', text)
  Object.assign(byId('state', HTMLElement), { hidden: false, className: `state ${tone}` })
}

/**
 * Shows facts as the rows of a description list; one without a value is left out.
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
 * Replaces what is in the element with an id, if it differs.
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
 * Whole cents in words, exactly: no fraction is computed.
 * @param {number} cents
 * @param {string} currency
 */
export function money(cents, currency) {
  const amount = /** @type {`${number}`} */ (decimal(cents))
  return new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(amount)
}

/**
 * Whole cents as one types them: `12.50`.
 * @param {number} cents
 */
export function decimal(cents) {
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/**
 * The cents that somebody typed; undefined for what is no amount.
 * @param {string} typed
 */
export function centsOf(typed) {
  const found = /^\s*\$?\s*(\d{1,9})(?:\.(\d{1,2}))?\s*$/.exec(typed)
  if (found === null) return undefined
  return Number(found[1]) * 100 + Number((found[2] ?? '').padEnd(2, '0'))
}

/**
 * A time as the person's calendar has it.
 * @param {string} timestamp
 * @param {string | undefined} timeZone of the host, which may know better than the browser
 */
export function timeIn(timestamp, timeZone) {
  const style = /** @type {const} */ ({ dateStyle: 'medium', timeStyle: 'short' })
  const zone = timeZone !== undefined && knownZone(timeZone) ? { timeZone } : {}
  return new Intl.DateTimeFormat('en-US', { ...style, ...zone }).format(new Date(timestamp))
}

/** @param {string} timeZone */
function knownZone(timeZone) {
  try {
    return Boolean(new Intl.DateTimeFormat('en-US', { timeZone }))
  } catch {
    return false
  }
}
