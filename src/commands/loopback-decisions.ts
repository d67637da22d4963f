import { decisionPath, type HeldCall, heldMs, mostHeld } from '../core/held-call.ts'
import { newId, newSecret, type System } from '../core/system.ts'
import type { Decisions, Held, Kept } from '../mcp/dependencies.ts'
import type { Beside } from '../service/pages/frame/decision-facts.ts'
import { type DecisionSite, type LocalDecision, openDecisionSite } from './decision-site.ts'
import { tooMany } from './served-decisions.ts'

export interface LoopbackOptions {
  environment: 'sandbox' | 'production'
  /** Opens a page for the person at this machine; false: that cannot be done. */
  open(address: URL): Promise<boolean>
  /** How a person can decide who has no browser here, such as `connect the host to https://api.example/mcp`. */
  elsewhere: string
  /** What caps what a call may spend, as far as the API tells it. */
  limits(call: HeldCall): Promise<Beside[]>
  /** Told of each decision. */
  decided?: ((call: HeldCall, decision: 'yes' | 'no') => void) | undefined
  system: System
  log: Parameters<typeof openDecisionSite>[0]['log']
}

/** A decision in this process's memory, and who may make it. */
interface Entry extends LocalDecision {
  tries: number
  answer: Held['answer']
  /** Whether this process opened it for the person. */
  isOpened: boolean
  /** Fulfilled when it is decided. */
  decided: PromiseWithResolvers<void>
}

/**
 * Decisions on a page that this process serves to its own machine, and opens there itself: with a ticket that lets the
 * person's browser in once, and stands in no answer. Whoever has the address alone may look and not agree.
 */
export class LoopbackDecisions implements Decisions {
  readonly isLocal = true
  readonly #options: LoopbackOptions
  readonly #entries = new Map<string, Entry>()
  #site: Promise<DecisionSite> | undefined

  constructor(options: LoopbackOptions) {
    this.#options = options
  }

  async keep(call: HeldCall, by: 'host' | 'person'): Promise<Kept | { refused: string }> {
    const { system, open } = this.#options
    this.#forget()
    const waiting = [...this.#entries.values()].filter((entry) => this.#stateOf(entry) === 'pending')
    const same = waiting.find((entry) => entry.call.of === call.of && entry.call.tool === call.tool)
    if (same === undefined && waiting.length >= mostHeld) return { refused: tooMany }
    const entry = same ?? this.#add(call)
    const { id, endsAtMs } = entry
    const url = await this.#addressOf(entry)
    // The window that was opened for it is there, or opens by the link in the browser that it was opened in.
    const isNew = same === undefined
    if (by === 'person' && entry.isOpened) return { id, url, address: url, endsAtMs, isNew }
    const address = `${url}/${openWindow(entry, system)}`
    entry.isOpened ||= by === 'person'
    if (by === 'person' && !(await open(new URL(address)))) {
      this.#entries.delete(id)
      return { refused: noBrowser(this.#options.elsewhere) }
    }
    return { id, url, address, endsAtMs, isNew }
  }

  async find(id: string): Promise<Held | undefined> {
    const entry = this.#entries.get(id)
    if (entry === undefined) return undefined
    const { call, tries, answer } = entry
    return { id, call, tries, state: this.#stateOf(entry), ...(answer === undefined ? {} : { answer }) }
  }

  async wait(id: string, ms: number, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry === undefined || this.#stateOf(entry) !== 'pending') return
    const timer = new AbortController()
    const late = this.#options.system.sleep(ms, AbortSignal.any([timer.signal, signal]))
    try {
      await Promise.race([entry.decided.promise, late])
    } finally {
      late.catch(() => {})
      timer.abort()
    }
  }

  async tryAgain({ id, tries }: Pick<Held, 'id' | 'tries'>): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry?.tries === tries) entry.tries += 1
  }

  async finish(id: string, answer: NonNullable<Held['answer']>): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry !== undefined) entry.answer = answer
  }

  async close(): Promise<void> {
    await (await this.#site)?.close()
  }

  #add(call: HeldCall): Entry {
    const { system } = this.#options
    const entry: Entry = {
      id: newId('dcn', system, system.now()),
      call,
      endsAtMs: system.now() + heldMs,
      decision: undefined,
      decided: Promise.withResolvers<void>(),
      tries: 0,
      answer: undefined,
      isOpened: false,
      windows: new Map(),
    }
    this.#entries.set(entry.id, entry)
    return entry
  }

  #stateOf({ decision, endsAtMs }: Entry): Held['state'] {
    const isOver = this.#options.system.now() >= endsAtMs
    return decision === 'no' ? 'no' : isOver ? 'ended' : (decision ?? 'pending')
  }

  #forget(): void {
    const { system } = this.#options
    for (const [id, { endsAtMs }] of this.#entries) if (system.now() >= endsAtMs + heldMs) this.#entries.delete(id)
  }

  async #addressOf({ id }: Entry): Promise<string> {
    this.#site ??= openDecisionSite({
      ...this.#options,
      find: (name) => {
        const entry = this.#entries.get(name)
        return entry && { ...entry, state: this.#stateOf(entry) }
      },
      waiting: () =>
        [...this.#entries.values()]
          .filter((entry) => this.#stateOf(entry) === 'pending')
          .map((entry) => ({ ...entry, state: 'pending' })),
      open: ({ id, windows }) => `${decisionPath(id)}/${[...windows.keys()].at(-1)}`,
      decide: (name, decision) => this.#decide(name, decision),
    })
    return (await this.#site).addressOf(id)
  }

  #decide(id: string, decision: 'yes' | 'no'): boolean {
    const entry = this.#entries.get(id)
    if (entry === undefined || this.#stateOf(entry) !== 'pending') return false
    entry.decision = decision
    entry.endsAtMs = this.#options.system.now() + heldMs
    entry.decided.resolve()
    this.#options.decided?.(entry.call, decision)
    return true
  }
}

/** Gives the ticket that lets one browser in. No model sees it. */
function openWindow({ windows }: Entry, system: System): string {
  const ticket = newSecret(system)
  windows.set(ticket, undefined)
  return ticket
}

const noBrowser = (elsewhere: string) =>
  `No browser could be opened on this machine, and only there a person can decide for this server. Tell them: they can use a host that supports elicitation, or ${elsewhere}, where they sign in from any browser. Whoever starts this server decides with PAYMENTS_CONFIRM (--confirm) when a person is asked. What you were told in the conversation does not count.`
