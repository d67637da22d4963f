/**
 * The script that keeps the console's pages up to date. Without this script, a page does not change after it is opened.
 * The server announces changes on a stream of server-sent events. The script handles these attributes:
 *
 * - `data-live="TOPIC" data-source="ADDRESS"`: a part of the page that the script updates when the topic changes. If
 *   the event contains the new content, the script shows that content. Otherwise, it requests the content from the
 *   address. If the event's version equals the part's `data-version`, the part stays as it is.
 * - `data-live="TOPIC" data-newer="ADDRESS"`: a list. When the topic changes, the script adds new entries at the top.
 *   If the event does not contain the entries, the script requests them from the address, with `newest=1` added to the
 *   query.
 * - `<a data-more>`: a link to more entries of a list. The script loads the entries when the link comes near the
 *   visible area.
 * - `<details data-source="ADDRESS">`: an element that a person can open. When it is opened, the script loads content
 *   from the address into the `[data-opened]` element inside.
 * - `data-chart data-from="MS" data-bucket="MS" data-count="NUMBER"`: a chart over time. The attributes are the start
 *   of the chart, the duration of each bar, and the number of bars. Dragging over the chart filters the page by time.
 * - `<button data-copies="ID">`: a button that copies the text of the element with that id.
 */

import { redraw } from './redraw.js'

/** @typedef {{ createHTML(text: string): string }} Policy */

/** The page's only Trusted Types policy. It returns HTML unchanged, because the server has escaped untrusted text. */
const policy = /** @type {Policy} */ (
  /** @type {any} */ (window).trustedTypes?.createPolicy('console', {
    createHTML: (/** @type {string} */ text) => text,
  }) ?? {
    createHTML: (text) => text,
  }
)

/**
 * Parses HTML from the console's server.
 * @param {string} text
 */
function fragmentOf(text) {
  const template = document.createElement('template')
  template.innerHTML = policy.createHTML(text)
  return template.content
}

/**
 * Fetches a part of the console. Returns undefined if the response is an error or the person is signed out.
 * @param {string} address
 */
async function fetchPart(address) {
  const answer = await fetch(address, { headers: { Accept: 'text/html' }, redirect: 'manual' })
  if (answer.ok) return answer
  if (answer.type === 'opaqueredirect' || answer.status === 401)
    showState('You are signed out. Reload the page to sign in.', 'lost')
  return undefined
}

/**
 * Fetches a part of the console and returns its HTML.
 * @param {string} address
 */
const fetchHtml = async (address) => (await fetchPart(address))?.text()

const state = /** @type {HTMLElement | null} */ (document.querySelector('[data-live-state]'))

/**
 * Shows a message about the page's connection to the stream.
 * @param {string} text
 * @param {'live' | 'lost'} connection
 */
function showState(text, connection) {
  if (state === null || state.textContent === text) return
  state.textContent = text
  state.dataset.liveState = connection
}

/**
 * Fetches a part again and replaces its content.
 * @param {HTMLElement} part
 */
async function reload(part) {
  const answer = await fetchPart(part.dataset.source ?? '')
  if (answer === undefined) return
  replaceContent(part, await answer.text())
  const version = answer.headers.get('part-version')
  if (version !== null) part.dataset.version = version
}

/**
 * Replaces the content of a part.
 * @param {HTMLElement} part
 * @param {string} text
 */
function replaceContent(part, text) {
  redraw(part, fragmentOf(text))
  watchMore(part)
}

/**
 * Fetches the newer entries of a list and adds them.
 * @param {HTMLElement} list
 */
async function fetchNewer(list) {
  const address = new URL(list.dataset.newer ?? '', location.href)
  address.searchParams.set('newest', '1')
  const text = await fetchHtml(address.href)
  if (text !== undefined) addNewer(list, text)
}

/**
 * Adds to the top of a list all fetched entries that are newer than the list's first entry.
 * @param {HTMLElement} list
 * @param {string} text
 */
function addNewer(list, text) {
  const first = list.querySelector('[data-entry]')
  const fetched = [...fragmentOf(text).querySelectorAll('[data-entry]')]
  const isContiguous = first === null || fetched.some(({ id }) => document.getElementById(id))
  // Newer entries have greater ids. The last fetched item may be a link to older entries, marked with `data-gap`. The
  // link is added if the list is empty, or if entries are missing between the fetched entries and the list's entries.
  const entries = fetched.filter((entry) =>
    entry.matches('[data-gap]') ? first === null || !isContiguous : first === null || entry.id > first.id,
  )
  for (const entry of fetched) mergeReads(entry)
  if (entries.length === 0) return
  const empty = list.querySelector('[data-empty]')
  empty?.remove()
  for (const entry of entries) entry.classList.add('new')
  list.prepend(...entries)
}

/**
 * Updates the summary in a tool call's row, and removes the separate rows of the reads that belong to the call. The MCP
 * server makes these reads before or after the call.
 * @param {Element} entry The fetched row of the call.
 */
function mergeReads(entry) {
  const ids = entry.getAttribute('data-reads')?.split(' ') ?? []
  for (const id of ids) document.getElementById(id)?.remove()
  const [own, wanted] = [document.getElementById(entry.id), entry].map((row) => row?.querySelector('summary'))
  if (own && wanted) redraw(own, wanted)
}

/**
 * Updates a part.
 * @param {HTMLElement} part
 */
function refresh(part) {
  const work = part.dataset.newer === undefined ? reload(part) : fetchNewer(part)
  // A failed request is not retried. The next change triggers a new request.
  return work.catch(() => {})
}

const parts = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-live]'))
/** @type {Set<HTMLElement>} */
const stale = new Set()

/**
 * Schedules an update of a part after a random delay, unless an update is already scheduled. If the page is hidden, the
 * update is delayed until the page is visible again.
 * @param {HTMLElement} part
 * @param {number} maxDelayMs
 */
function refreshSoon(part, maxDelayMs) {
  if (stale.has(part)) return
  stale.add(part)
  // All pages are notified at the same time. The random delay spreads out their requests.
  if (!document.hidden) setTimeout(() => refreshNow(part), Math.random() * maxDelayMs)
}

/**
 * Updates a part that is out of date, if the page is visible.
 * @param {HTMLElement} part
 */
function refreshNow(part) {
  if (document.hidden || !stale.delete(part)) return
  void refresh(part)
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden) for (const part of [...stale]) refreshNow(part)
})

function listen() {
  const topics = new Set([...parts].map((part) => part.dataset.live ?? ''))
  if (topics.size === 0) return
  const asked = new URLSearchParams([...topics].map((topic) => ['topic', topic]))
  const source = new EventSource(`/console/stream?${asked}`)
  source.addEventListener('open', () => {
    showState('Live', 'live')
    // The page was not notified of changes between its rendering and this connection.
    for (const part of parts) refreshSoon(part, 0)
  })
  source.addEventListener('changed', (event) => {
    const { topics: changed, inMs, drawn } = JSON.parse(event.data)
    for (const part of parts) {
      if (!changed.includes(part.dataset.live)) continue
      const { source, newer, version } = part.dataset
      const shown = drawn.find((/** @type {{ source: string }} */ one) => one.source === (newer ?? source))
      if (shown?.version !== undefined && shown.version === version) continue
      if (document.hidden || shown?.html === undefined) refreshSoon(part, inMs)
      else if (newer === undefined) replaceContent(part, shown.html)
      else addNewer(part, shown.html)
    }
  })
  source.addEventListener('error', () => {
    const isOver = source.readyState === EventSource.CLOSED
    showState(isOver ? 'Updates have stopped. Reload the page.' : 'Connection lost. Reconnecting…', 'lost')
    // If a response is not a stream, for example while the server starts, the browser does not reconnect by itself.
    if (isOver) void listenAgain(source.url)
  })
}

/**
 * Requests the stream's address to read the HTTP status. Reconnects after a pause, unless the status shows that the
 * person is signed out or that the stream does not exist.
 * @param {string} address
 */
async function listenAgain(address) {
  const aborter = new AbortController()
  const status = await fetch(address, { signal: aborter.signal }).then(
    (answer) => answer.status,
    () => 0,
  )
  aborter.abort()
  if (status === 401) showState('You are signed out. Reload the page to sign in.', 'lost')
  else if (status !== 404) setTimeout(listen, 3000)
}

const nearViewport = new IntersectionObserver(
  (seen) => {
    for (const { isIntersecting, target } of seen)
      if (isIntersecting) void loadMore(/** @type {HTMLAnchorElement} */ (target))
  },
  { rootMargin: '1200px' },
)

/**
 * Loads the entries at a link's address and appends them to the list. Replaces the link with the link to the next
 * entries, or removes it if there are none.
 * @param {HTMLAnchorElement} link
 */
async function loadMore(link) {
  nearViewport.unobserve(link)
  const address = new URL(link.href)
  address.searchParams.set('fragment', '1')
  const text = await fetchHtml(address.href).catch(() => undefined)
  if (text === undefined) return
  const more = fragmentOf(text)
  const list = link.closest('[data-list]')?.querySelector('[data-entries]')
  const entries = [...more.querySelectorAll('[data-entries] > *')].filter(
    ({ id }) => !id || !document.getElementById(id),
  )
  // The browser lays out an element of this class only when the element is visible (console.css).
  const page = document.createElement(list?.tagName === 'TBODY' ? 'tbody' : 'div')
  page.className = 'entries-page'
  page.append(...entries)
  list?.append(page)
  const next = more.querySelector('[data-more]')
  if (next === null) link.remove()
  else link.replaceWith(next)
  watchMore(document.body)
}

/**
 * Observes the links to more entries, so that the entries load when a link comes near the visible area.
 * @param {ParentNode} within
 */
function watchMore(within) {
  for (const link of within.querySelectorAll('a[data-more]')) nearViewport.observe(link)
}

document.addEventListener(
  'toggle',
  async (event) => {
    const details = /** @type {HTMLDetailsElement} */ (event.target)
    const { source } = details.dataset
    const into = details.querySelector('[data-opened]')
    if (!details.open || source === undefined || into === null || into.childElementCount > 0) return
    into.setAttribute('aria-busy', 'true')
    const text = await fetchHtml(source).catch(() => undefined)
    into.removeAttribute('aria-busy')
    if (text === undefined)
      into.textContent = 'The details could not be loaded. To try again, close this row and reopen it.'
    else into.replaceChildren(fragmentOf(text))
  },
  true,
)

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return
  const details = document.activeElement?.closest('details[open]')
  if (!(details instanceof HTMLDetailsElement)) return
  details.open = false
  details.querySelector('summary')?.focus()
})

document.addEventListener('click', async (event) => {
  const button = event.target instanceof Element ? event.target.closest('button[data-copies]') : null
  if (!(button instanceof HTMLButtonElement)) return
  const text = document.getElementById(button.dataset.copies ?? '')?.textContent ?? ''
  const said = button.nextElementSibling
  try {
    await navigator.clipboard.writeText(text)
    if (said !== null) said.textContent = 'Copied.'
  } catch {
    if (said !== null) said.textContent = 'The browser does not allow copying. Select the text and copy it yourself.'
  }
})

/**
 * The drag in progress: the chart, and the start of the drag as a share of the chart's width. Undefined between drags.
 */
let drag = /** @type {{ chart: HTMLElement, from: number } | undefined} */ (undefined)

/**
 * Returns the pointer's position within a chart as a share of the chart's width.
 * @param {HTMLElement} chart
 * @param {PointerEvent} event
 */
function shareAt(chart, { clientX }) {
  const { left, width } = chart.getBoundingClientRect()
  return Math.min(1, Math.max(0, (clientX - left) / width))
}

/**
 * Returns the indexes of the first and last bars in a selection, and the number of bars in the chart.
 * @param {HTMLElement} chart
 * @param {number[]} shares The ends of the selection, as shares of the chart's width.
 */
function barsOf({ dataset }, shares) {
  const count = Number(dataset.count)
  const bars = shares.map((share) => Math.min(count - 1, Math.floor(share * count)))
  return { first: Math.min(...bars), last: Math.max(...bars), count }
}

/**
 * Marks the bars that the drag covers.
 * @param {PointerEvent} event
 */
function showSelection(event) {
  if (drag === undefined) return
  const { first, last, count } = barsOf(drag.chart, [drag.from, shareAt(drag.chart, event)])
  const selection = /** @type {HTMLElement | null} */ (drag.chart.querySelector('[data-selection]'))
  if (selection === null) return
  selection.hidden = false
  selection.style.left = `${(100 * first) / count}%`
  selection.style.width = `${(100 * (last - first + 1)) / count}%`
}

document.addEventListener('pointerdown', (event) => {
  const chart = event.target instanceof Element ? event.target.closest('[data-chart]') : null
  if (!(chart instanceof HTMLElement) || event.button !== 0) return
  drag = { chart, from: shareAt(chart, event) }
  showSelection(event)
})

document.addEventListener('pointermove', showSelection)

document.addEventListener('pointercancel', () => {
  drag?.chart.querySelector('[data-selection]')?.setAttribute('hidden', '')
  drag = undefined
})

document.addEventListener('pointerup', (event) => {
  if (drag === undefined) return
  const { chart, from } = drag
  drag = undefined
  const { first, last } = barsOf(chart, [from, shareAt(chart, event)])
  const { from: beganMs, bucket } = chart.dataset
  const secondOf = (/** @type {number} */ bar, lessMs = 0) =>
    new Date(Number(beganMs) + bar * Number(bucket) - lessMs).toISOString().slice(0, 19)
  const address = new URL(location.href)
  address.searchParams.delete('before')
  address.searchParams.set('from', secondOf(first))
  address.searchParams.set('until', secondOf(last + 1, 1000))
  location.assign(address)
})

// Relative times such as "2 min ago" become outdated even if the data does not change.
setInterval(() => {
  for (const part of parts) if (part.dataset.live === 'runs') refreshSoon(part, 0)
}, 60_000)

listen()
watchMore(document.body)
document.documentElement.dataset.scripted = 'yes'
