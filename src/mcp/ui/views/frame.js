import { createActions, showProblem } from './actions.js'
import { dataOf, Refusal } from './answers.js'
import { byId, write } from './elements.js'
import { connectHost } from './host.js'
import { createPoller } from './live.js'

/**
 * @template ViewData
 * @typedef View the parts in which views differ
 * @property {string} type the type of the resources that the view shows
 * @property {(resource: any) => string} idOf maps the resource in a tool's result to the id of the resource to read
 * @property {(resource: any) => ViewData | undefined} fromResult the part of the view's data that a result contains
 * @property {(id: string) => Promise<ViewData>} read
 * @property {(shown: ViewData) => void} render
 * @property {(before: ViewData, after: ViewData) => string} news describes the changes; empty if there are none
 * @property {(shown: ViewData) => number | undefined} pauseMs the pause before the next read; undefined to stop reading
 */

const liveWords = {
  live: 'Updates automatically.',
  paused: 'Automatic updates have stopped. Press Refresh.',
  final: 'No further changes.',
}

/**
 * The common part of all views. It shows the resource in a tool's result, and reads the resource again at intervals and
 * after each action.
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
    onCancelled: (reason) => this.#explain(new Refusal(`The call was canceled: ${reason}.`)),
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

  /** Returns the argument `customerPartyId` of the view's tool call, so that further calls act for the same party. */
  party() {
    return { customerPartyId: this.#input.customerPartyId }
  }

  /** Returns whether the buttons work. They work only if the host forwards tool calls to the server. */
  mayAct() {
    return this.host.mayCall()
  }

  /** Returns whether the person can use the buttons that simulate a merchant. They are shown only in the sandbox. */
  maySimulate() {
    return this.mayAct() && document.documentElement.dataset.environment === 'sandbox'
  }

  busy() {
    return this.#actions.busy()
  }

  /**
   * Calls a tool for a button, then reads the resource again, whether the call succeeded or failed.
   * @param {HTMLButtonElement} button
   * @param {string} busyText the button's text during the call
   * @param {string} name
   * @param {Record<string, unknown>} arguments_
   * @param {() => void} [onDone] called if the call succeeds, before the resource is read again
   */
  act(button, busyText, name, arguments_, onDone) {
    return this.#actions.press(button, busyText, async () => {
      const [result] = await Promise.allSettled([this.#actions.change(name, arguments_)])
      if (result.status === 'fulfilled') onDone?.()
      const changed = await this.#reload()
      if (result.status === 'fulfilled') return
      // If the resource has changed, we assume that the call succeeded and only its answer was lost.
      if (changed && result.reason instanceof Refusal && result.reason.mayHaveSucceeded) return
      throw result.reason
    })
  }

  /**
   * Shows the resource in a tool's result if this view shows resources of that type.
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

  /** Reads the resource again, and shows it unless a later read has started. Returns whether a change was shown. */
  async #reload() {
    if (this.#id === undefined) return false
    const readNumber = ++this.#readCount
    const read = await this.#view.read(this.#id)
    return readNumber === this.#readCount && this.#show(read)
  }

  /**
   * Renders new data and announces the changes. Returns whether there were changes.
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
   * Shows the message and the advice of a refusal; rethrows any other error.
   * @param {unknown} error
   */
  #explain(error) {
    if (!(error instanceof Refusal)) throw error
    if (this.#shown === undefined) write('title', 'Nothing to show')
    showProblem(`${error.message} ${error.advice}`.trim())
  }
}
