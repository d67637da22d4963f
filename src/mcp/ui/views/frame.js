import { createActions, showProblem } from './actions.js'
import { dataOf, Refusal } from './answers.js'
import { byId, write } from './elements.js'
import { connectHost } from './host.js'
import { createPoller } from './live.js'

/**
 * @template ViewData
 * @typedef View the parts that differ between views
 * @property {string} type the type of the resources that the view shows
 * @property {(resource: any) => string} idOf the id of the resource to read, given the resource in a tool's result
 * @property {(resource: any) => ViewData | undefined} fromResult the content available from the result alone
 * @property {(id: string) => Promise<ViewData>} read
 * @property {(shown: ViewData) => void} render
 * @property {(before: ViewData, after: ViewData) => string} news the changes in words; empty if there are none
 * @property {(shown: ViewData) => number | undefined} pauseMs the time to the next read; undefined if nothing can change
 */

const liveWords = {
  live: 'Updates automatically.',
  paused: 'No longer updates automatically: press Refresh.',
  final: 'No further changes.',
}

/**
 * The common part of all views. It shows tool results, reads the resource again after each change, and keeps it live.
 * @template ViewData
 */
export class Frame {
  /** @type {View<ViewData>} */
  #view
  /** @type {Record<string, any>} */
  #input = {}
  /** @type {string | undefined} */
  #id
  /** @type {ViewData | undefined} */
  #shown
  #readCount = 0

  host = connectHost({
    onInput: (given) => {
      this.#input = given
    },
    onResult: (result) => {
      this.#receive(result).catch((error) => this.#explain(error))
    },
    onCancelled: (reason) => this.#explain(new Refusal(`The call was cancelled: ${reason}.`)),
    onEnd: () => this.#poller.end(),
  })
  #actions = createActions(this.host, () => {
    if (this.#shown !== undefined) this.#view.render(this.#shown)
    this.#poller.start()
  })
  #poller = createPoller({
    reload: async () => !this.busy() && (await this.#reload()),
    pauseMs: () => (this.#shown === undefined || !this.mayAct() ? undefined : this.#view.pauseMs(this.#shown)),
    onState: (state) => {
      byId('foot', HTMLElement).hidden = this.#shown === undefined || !this.mayAct()
      write('live', liveWords[state])
    },
  })

  /** @param {View<ViewData>} view */
  constructor(view) {
    this.#view = view
    const refresh = byId('refresh', HTMLButtonElement)
    refresh.addEventListener('click', () =>
      this.#actions.press(refresh, 'Refreshing…', async () => {
        if (!(await this.#reload())) write('news', 'No changes.')
      }),
    )
  }

  start() {
    this.host.connect().catch((error) => this.#explain(error))
  }

  /** Returns the argument that makes a call act for the same party as the view's original call. */
  party() {
    return { customerPartyId: this.#input.customerPartyId }
  }

  /** Returns whether the buttons work: the host must forward tool calls to the server. */
  mayAct() {
    return this.host.mayCall()
  }

  /** Returns whether the buttons may simulate the merchant. */
  maySimulate() {
    return this.mayAct() && document.documentElement.dataset.environment === 'sandbox'
  }

  busy() {
    return this.#actions.busy()
  }

  /**
   * Calls a tool for a button, then reads the resource again, whether the call succeeded or failed.
   * @param {HTMLButtonElement} button
   * @param {string} progressText
   * @param {string} name
   * @param {Record<string, unknown>} arguments_
   * @param {() => void} [onDone] called before the result is shown
   */
  act(button, progressText, name, arguments_, onDone) {
    return this.#actions.press(button, progressText, async () => {
      const [result] = await Promise.allSettled([this.#actions.change(name, arguments_)])
      if (result.status === 'fulfilled') onDone?.()
      const changed = await this.#reload()
      if (result.status === 'fulfilled') return
      // Only the answer was lost: the resource now shows that the change happened.
      if (changed && result.reason instanceof Refusal && !result.reason.outcomeKnown) return
      throw result.reason
    })
  }

  /**
   * Shows the result of a tool, if it belongs to this view.
   * @param {import('./answers.js').ToolResult} result
   */
  async #receive(result) {
    const data = dataOf(result)
    if (data?.type !== this.#view.type) return
    this.#id = this.#view.idOf(data)
    const first = this.#view.fromResult(data)
    if (first !== undefined && (this.#shown === undefined || !this.mayAct())) this.#show(first)
    if (this.mayAct()) await this.#reload()
    this.#poller.start()
  }

  /** Reads the resource again. A result is dropped if a later read has started. */
  async #reload() {
    if (this.#id === undefined) return false
    const readNumber = ++this.#readCount
    const read = await this.#view.read(this.#id)
    return readNumber === this.#readCount && this.#show(read)
  }

  /**
   * Renders a new state, and announces the difference. Returns whether there was one.
   * @param {ViewData} after
   */
  #show(after) {
    const before = this.#shown
    this.#shown = after
    this.#view.render(after)
    const news = before === undefined ? '' : this.#view.news(before, after)
    if (news !== '') write('news', news)
    return news !== ''
  }

  /**
   * Shows why something was refused.
   * @param {unknown} error
   */
  #explain(error) {
    if (!(error instanceof Refusal)) throw error
    if (this.#shown === undefined) write('title', 'Nothing to show')
    showProblem(`${error.message} ${error.advice}`.trim())
  }
}
