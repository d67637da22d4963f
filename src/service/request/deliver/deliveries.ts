import type { Logger } from '../../../config/log.ts'
import { deadline, newSecret } from '../../../core/system.ts'
import { realNow } from '../../store/clock.ts'
import { changesTopic, type Signals } from '../../store/engine/signals.ts'
import { StoreBusyError } from '../../store/engine/store.ts'
import { endTaskLease, takeTaskLease } from '../../store/task-leases.ts'
import { type DueWebhook, dueWebhooks, type WebhookKey, webhooksWithNewEvents } from '../../store/webhooks.ts'
import { fanOut } from './fan-out.ts'
import { type TurnDependencies, takeTurn } from './turn.ts'

/** How often to poll for events if no signal arrives. */
const lookEveryMs = 500
/** Events that occur within this interval are handled together. */
const gatherMs = 50
/**
 * How long a lease lasts if it is not renewed. If the delivering process is killed, another process takes over after
 * this time.
 */
const leaseMs = 3_000
const renewEveryMs = 1_000
/** The maximum number of webhooks served at a time. There is a limit because each webhook uses sockets and memory. */
const maxTurns = 200
/**
 * The maximum number of failing webhooks served at a time. It is lower than `maxTurns`, because serving a failing
 * webhook may take many seconds.
 */
const maxFailing = 100
const maxWithNewEvents = 100
/** How long a webhook's deliveries pause after an internal error, such as a bug or a broken disk. */
const restAfterFailureMs = 5_000
/** How long a delivery attempt in progress may still take after the shutdown has begun. */
const graceMs = 3_000

interface Dependencies extends TurnDependencies {
  log: Logger
}

/**
 * Delivers events to webhooks in the background (docs/webhooks.md). If there are several processes, only the one that
 * holds the lease in the database delivers. Each webhook is served in turns: in a turn, a limited number of its
 * deliveries are sent one after another. Turns of different webhooks run in parallel, so that a slow receiver delays
 * only its own deliveries.
 */
export class Deliveries {
  readonly #dependencies: Dependencies
  readonly #holder: string
  /** The webhooks, by id, whose turn is running or that pause after an internal error. */
  readonly #busy = new Map<string, { isFailing: boolean; done: Promise<void> }>()
  readonly #ending = new AbortController()
  #woken = Promise.withResolvers<void>()
  readonly #stopping = Promise.withResolvers<void>()
  #running: Promise<void> = Promise.resolve()
  #isStopped = false
  #isHolder = false
  #renewAtMs = Number.NEGATIVE_INFINITY
  #unsubscribe: () => void = () => {}

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
    this.#holder = newSecret(dependencies.system, 12)
  }

  /** Starts to deliver in the background, until `stop` is called. */
  start(): void {
    this.#running = this.#run()
  }

  /**
   * Listens for the signals that other processes send after changes. Without a signal, a change is found only by the
   * next poll.
   */
  connect(signals: Signals): void {
    this.#unsubscribe = signals.subscribe(changesTopic, () => this.wake())
  }

  /** Checks for new events without waiting for the next poll. It is called after a change. */
  wake(): void {
    this.#woken.resolve()
  }

  /** Delivers all due events, and all events that become due while it runs. */
  async once(): Promise<void> {
    while (await this.#beginDue()) await this.#allTurns()
  }

  /**
   * Stops delivering. Waits a moment for the attempts in progress. If an attempt still has no answer, another process
   * repeats it, or this service does so after its next start.
   */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopping.resolve()
    this.#unsubscribe()
    this.wake()
    const late = deadline(graceMs, () => this.#ending.abort())
    await this.#running
    await this.#allTurns()
    late.clear()
    if (this.#isHolder) await this.#unlessBusy(() => this.#endLease())
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.#woken = Promise.withResolvers()
      await this.#unlessBusy(() => this.#beginDue())
      const timer = deadline(lookEveryMs, this.#woken.resolve)
      await this.#woken.promise
      timer.clear()
      // Calling `stop` ends this pause early. The timer of the pause does not keep the process alive.
      if (!this.#isStopped) await Promise.race([delay(gatherMs), this.#stopping.promise])
    }
  }

  /**
   * Creates deliveries for new events and begins the turns of webhooks with due deliveries, if this process holds the
   * lease. Returns false if it had nothing to do or does not hold the lease.
   */
  async #beginDue(): Promise<boolean> {
    const { store } = this.#dependencies
    const nowMs = await store.read(realNow)
    const limit = maxTurns + this.#busy.size
    const find = () => store.read((tx) => dueWebhooks(tx, { nowMs: Math.max(nowMs, store.clock.lastMs), limit }))
    const [withNewEvents, due] = await Promise.all([
      store.read((tx) => webhooksWithNewEvents(tx, maxWithNewEvents)),
      find(),
    ])
    const isIdle = withNewEvents.length === 0 && due.length === 0 && this.#busy.size === 0
    if (isIdle || !(await this.#holdsLease())) return false
    for (const webhook of withNewEvents) await this.#createDeliveries(webhook)
    const begun = (withNewEvents.length === 0 ? due : await find()).filter((webhook) => this.#begin(webhook))
    return withNewEvents.length + begun.length > 0
  }

  /**
   * Takes or renews the lease if possible. Returns whether this process holds it. Call this only if there is work, so
   * that an idle process writes nothing.
   */
  async #holdsLease(): Promise<boolean> {
    const { store, system } = this.#dependencies
    if (this.#isHolder && system.elapsed() < this.#renewAtMs) return true
    this.#isHolder = await store.transaction(async (tx) => {
      const nowMs = await realNow(tx)
      return takeTaskLease(tx, { name: leaseName, holder: this.#holder, nowMs, untilMs: nowMs + leaseMs })
    })
    this.#renewAtMs = system.elapsed() + renewEveryMs
    return this.#isHolder
  }

  #endLease(): Promise<void> {
    const { store } = this.#dependencies
    return store.transaction((tx) => endTaskLease(tx, { name: leaseName, holder: this.#holder }))
  }

  /** Creates a webhook's deliveries for new events. */
  async #createDeliveries(webhook: WebhookKey): Promise<void> {
    const { store, system, log } = this.#dependencies
    try {
      while (!this.#isStopped && (await store.transaction((tx) => fanOut(tx, system, webhook))));
    } catch (error) {
      if (error instanceof StoreBusyError) throw error
      log.error({ err: error, webhookId: webhook.id }, 'the deliveries for a webhook could not be created')
    }
  }

  /** Begins a webhook's turn. Returns false, and begins no turn, if the webhook is busy or too many webhooks are. */
  #begin({ failingSinceMs, ...webhook }: DueWebhook): boolean {
    const isFailing = failingSinceMs !== null
    const failing = isFailing ? [...this.#busy.values()].filter((one) => one.isFailing).length : 0
    if (this.#busy.has(webhook.id) || this.#busy.size >= maxTurns || failing >= maxFailing) return false
    this.#busy.set(webhook.id, { isFailing, done: this.#deliverTo(webhook) })
    return true
  }

  async #deliverTo(webhook: WebhookKey): Promise<void> {
    try {
      await takeTurn(this.#dependencies, webhook, this.#ending.signal)
      this.#busy.delete(webhook.id)
    } catch (error) {
      if (error instanceof StoreBusyError) this.#dependencies.log.debug({ err: error }, waiting)
      else this.#dependencies.log.error({ err: error, webhookId: webhook.id }, 'the deliveries to a webhook failed')
      deadline(restAfterFailureMs, () => this.#busy.delete(webhook.id))
    }
    this.wake()
  }

  async #allTurns(): Promise<void> {
    await Promise.all([...this.#busy.values()].map(({ done }) => done))
  }

  /** Runs the work. An error is logged and not thrown, so that polling continues. */
  async #unlessBusy(work: () => Promise<unknown>): Promise<void> {
    const { log } = this.#dependencies
    try {
      await work()
    } catch (error) {
      if (error instanceof StoreBusyError) log.debug({ err: error }, waiting)
      else log.error({ err: error }, 'the deliveries failed')
    }
  }
}

const leaseName = 'webhook deliveries'
const waiting = 'the deliveries are waiting for the database'

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => deadline(ms, resolve))
}
