import { deadline } from '../../../../core/system.ts'
import type { ConsoleDependencies } from '../shown.ts'
import { Changes } from './changes.ts'

/** More pages than a person has open, and than a team has. */
const mostOfParty = 200
const mostStreams = 2000
/** Proxies close what is silent for longer, and whoever signed out is found out by then. */
const heartbeatMs = 15_000
/** How long a browser waits before it connects again, milliseconds. */
const retryMs = 1000
/** A page is drawn anew at most so often; with many watchers more seldom, so that all of them together cost little. */
const leastPaceMs = 500
const paceOfWatcherMs = 40
/** What changes within it is told together. */
const gatherMs = 30

interface Stream {
  partyId: string
  topics: ReadonlySet<string>
  send(text: string): void
  close(): void
  /** What changed since it was told last. */
  due: Set<string>
}

/** When pages were told last. */
export interface Told {
  /** What was read before then may lack what a page was told of, or missed while it was away. */
  readonly toldMs: number
}

/** Who wants to be told, of what, and whether they still may. */
export interface Watcher {
  partyId: string
  topics: readonly string[]
  stillThere: () => Promise<boolean>
  /** Aborts when the browser left. */
  gone: AbortSignal
}

/**
 * The pages of the console that are open. Each has one stream, on which it is told that one of its topics changed, and
 * nothing else: what it shows it asks for like any page.
 */
export class Streams implements Told {
  readonly #dependencies: ConsoleDependencies
  readonly #changes: Changes
  readonly #streams = new Set<Stream>()
  readonly #ofParty = new Map<string, number>()
  #telling: ReturnType<typeof deadline> | undefined
  #lastToldMs = Number.NEGATIVE_INFINITY
  #toldMs = Number.NEGATIVE_INFINITY

  constructor(dependencies: ConsoleDependencies) {
    this.#dependencies = dependencies
    this.#changes = new Changes(
      dependencies,
      () => new Set(this.#ofParty.keys()),
      (partyId, topics) => this.#changed(partyId, topics),
    )
    dependencies.ending.addEventListener('abort', () => {
      for (const stream of [...this.#streams]) stream.close()
    })
  }

  get toldMs(): number {
    return this.#toldMs
  }

  /** How often a page is told at most, milliseconds. */
  get paceMs(): number {
    return Math.max(leastPaceMs, this.#streams.size * paceOfWatcherMs)
  }

  /** A body of server-sent events (HTML Living Standard, 9.2); undefined: too many watch. */
  async open(watcher: Watcher): Promise<ReadableStream<Uint8Array> | undefined> {
    const { partyId } = watcher
    const mine = this.#ofParty.get(partyId) ?? 0
    if (mine >= mostOfParty || this.#streams.size >= mostStreams) return undefined
    this.#ofParty.set(partyId, mine + 1)
    try {
      await this.#changes.begin(partyId)
    } catch (error) {
      this.#oneLess(partyId)
      throw error
    }
    const encoder = new TextEncoder()
    let stream: Stream | undefined
    return new ReadableStream({
      start: (controller) => {
        stream = this.#add(watcher, {
          send: (text) => controller.enqueue(encoder.encode(text)),
          close: () => controller.close(),
        })
      },
      cancel: () => stream?.close(),
    })
  }

  #add({ partyId, topics, stillThere, gone }: Watcher, to: { send(text: string): void; close(): void }): Stream {
    let heartbeat: ReturnType<typeof deadline> | undefined
    const stream: Stream = {
      partyId,
      topics: new Set(topics),
      due: new Set(),
      send: to.send,
      close: () => {
        if (!this.#streams.delete(stream)) return
        heartbeat?.clear()
        this.#oneLess(partyId)
        try {
          to.close()
        } catch {
          // The browser closed it before.
        }
      },
    }
    const beat = async () => {
      const isThere = await stillThere().catch(() => true)
      if (!this.#streams.has(stream)) return
      if (!isThere) return stream.close()
      stream.send(': still here\n\n')
      heartbeat = deadline(heartbeatMs, () => void beat())
    }
    this.#streams.add(stream)
    this.#toldMs = this.#dependencies.system.elapsed()
    stream.send(`retry: ${retryMs}\nevent: open\ndata: {}\n\n`)
    heartbeat = deadline(heartbeatMs, () => void beat())
    gone.addEventListener('abort', () => stream.close())
    return stream
  }

  #oneLess(partyId: string): void {
    const left = (this.#ofParty.get(partyId) ?? 1) - 1
    if (left > 0) this.#ofParty.set(partyId, left)
    else this.#ofParty.delete(partyId)
    if (this.#ofParty.size === 0) this.#changes.end()
  }

  #changed(partyId: string, topics: readonly string[]): void {
    let isAnyDue = false
    for (const stream of this.#streams) {
      if (stream.partyId !== partyId) continue
      for (const topic of topics) {
        if (!stream.topics.has(topic)) continue
        stream.due.add(topic)
        isAnyDue = true
      }
    }
    if (!isAnyDue) return
    // What comes right after it is told with it.
    const inMs = Math.max(gatherMs, this.#lastToldMs + this.paceMs - this.#dependencies.system.elapsed())
    this.#telling ??= deadline(inMs, () => this.#tell())
  }

  #tell(): void {
    this.#telling = undefined
    this.#lastToldMs = this.#dependencies.system.elapsed()
    this.#toldMs = this.#lastToldMs
    const inMs = Math.round(this.paceMs / 2)
    for (const stream of [...this.#streams]) {
      if (stream.due.size === 0) continue
      const topics = [...stream.due]
      stream.due.clear()
      stream.send(`event: changed\ndata: ${JSON.stringify({ topics, inMs })}\n\n`)
    }
  }
}
