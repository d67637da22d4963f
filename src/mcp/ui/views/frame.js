import { createActions, tell } from './actions.js'
import { dataOf, Refusal } from './answers.js'
import { byId, write } from './elements.js'
import { connectHost } from './host.js'
import { keepLive } from './live.js'

/**
 * @template Shown
 * @typedef View what differs from view to view
 * @property {string} type of the resources that it is about
 * @property {(resource: any) => string} idOf the id of the resource to read, given one that a tool answered
 * @property {(resource: any) => Shown | undefined} atOnce what the answer alone can show
 * @property {(id: string) => Promise<Shown>} read
 * @property {(shown: Shown) => void} render
 * @property {(before: Shown, after: Shown) => string} news what became different, in words; empty: nothing
 * @property {(shown: Shown) => number | undefined} pauseMs until the next look; undefined: nothing changes any more
 */

const liveWords = {
  live: 'Updates by itself.',
  paused: 'No longer updates by itself: press Refresh.',
  final: 'Nothing changes any more.',
}

/**
 * What the views share: it shows what tools answered, reads it anew after each change, and keeps it live.
 * @template Shown
 * @param {View<Shown>} view
 */
export function createFrame(view) {
  /** @type {Record<string, any>} */
  let input = {}
  /** @type {string | undefined} */
  let id
  /** @type {Shown | undefined} */
  let shown
  let looks = 0

  const host = connectHost({
    onInput: (given) => {
      input = given
    },
    onResult: (result) => {
      take(result).catch(explain)
    },
    onCancelled: (reason) => explain(new Refusal(`The call was cancelled: ${reason}.`)),
    onEnd: () => live.end(),
  })
  const actions = createActions(host, () => {
    if (shown !== undefined) view.render(shown)
    live.start()
  })
  const live = keepLive({
    look: async () => !actions.busy() && (await look()),
    pauseMs: () => (shown === undefined || !host.mayCall() ? undefined : view.pauseMs(shown)),
    onState: (state) => {
      byId('foot', HTMLElement).hidden = shown === undefined || !host.mayCall()
      write('live', liveWords[state])
    },
  })

  /** @param {import('./answers.js').ToolResult} result */
  async function take(result) {
    const data = dataOf(result)
    if (data?.type !== view.type) return
    id = view.idOf(data)
    const first = view.atOnce(data)
    if (first !== undefined && (shown === undefined || !host.mayCall())) show(first)
    if (host.mayCall()) await look()
    live.start()
  }

  /** Reads it anew. An answer that a later look has overtaken is dropped. */
  async function look() {
    if (id === undefined) return false
    const at = ++looks
    const read = await view.read(id)
    return at === looks && show(read)
  }

  /** @param {Shown} after */
  function show(after) {
    const before = shown
    shown = after
    view.render(after)
    const news = before === undefined ? '' : view.news(before, after)
    if (news !== '') write('news', news)
    return news !== ''
  }

  /** @param {unknown} error */
  function explain(error) {
    if (!(error instanceof Refusal)) throw error
    if (shown === undefined) write('title', 'Nothing to show')
    tell(`${error.message} ${error.advice}`.trim())
  }

  const refresh = byId('refresh', HTMLButtonElement)
  refresh.addEventListener('click', () =>
    actions.press(refresh, 'Refreshing…', async () => {
      if (!(await look())) write('news', 'This is how it stands.')
    }),
  )

  return {
    host,
    /** The party that the view's call acted for, as an argument. */
    party: () => ({ customerPartyId: input.customerPartyId }),
    /** Whether the buttons have an effect: not where the host carries no calls. */
    mayAct: () => host.mayCall(),
    /** Whether they may rehearse what a merchant does. */
    maySimulate: () => host.mayCall() && document.documentElement.dataset.environment === 'sandbox',
    busy: actions.busy,
    /**
     * Lets a button call a tool. What it brought about, or that it could not, is read anew.
     * @param {HTMLButtonElement} button
     * @param {string} doing
     * @param {string} name
     * @param {Record<string, unknown>} arguments_
     * @param {() => void} [onDone] called before it is shown
     */
    act: (button, doing, name, arguments_, onDone) =>
      actions.press(button, doing, async () => {
        const [result] = await Promise.allSettled([actions.change(name, arguments_)])
        if (result.status === 'fulfilled') onDone?.()
        const changed = await look()
        if (result.status === 'fulfilled') return
        // Only the answer was lost: what is shown now says that it happened.
        if (changed && result.reason instanceof Refusal && !result.reason.certain) return
        throw result.reason
      }),
    start: () => {
      host.connect().catch(explain)
    },
  }
}
