import { deadline } from '../../../../core/system.ts'
import type { SignedIn } from '../../../oauth/sign-in.ts'
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
const paceOfWatcherMs = 15
/** Pages that ask for what changed do so spread over so long, for each watcher. */
const askingOfWatcherMs = 40
/** What waits for a browser that reads slowly, at most. */
export const mostQueuedBytes = 256 * 1024
/** What changes within it is told together. */
const gatherMs = 30

interface Stream {
  viewer: Viewer
  topics: ReadonlySet<string>
  /** Whether it fitted. */
  send(bytes: Uint8Array): boolean
  close(): void
  /** What changed since it was told last. */
  due: Set<string>
}

/** When pages were told last. */
export interface Told {
  /** What was read before then may lack what a page was told of, or missed while it was away. */
  readonly toldMs: number
}

/** Who watches: pages are drawn as this user may see them who signed in so. */
export type Viewer = Pick<SignedIn, 'user' | 'isProven'>

/**
 * A part of a page as its address answers it. Where each page has a part of its own, `version` says whether it is another
 * than before.
 */
export type Drawn = { source: string } & ({ html: string } | { version: string })

/** Draws what those who watch a topic are shown; for other parts they ask. */
export type Draw = (viewer: Viewer, topic: string) => Promise<readonly Drawn[]>

/** Who wants to be told, of what, and whether they still may. */
export interface Watcher {
  viewer: Viewer
  topics: readonly string[]
  stillThere: () => Promise<boolean>
  /** Aborts when the browser left. */
  gone: AbortSignal
}

const encoder = new TextEncoder()
const openBytes = encoder.encode(`retry: ${retryMs}\nevent: open\ndata: {}\n\n`)
const beatBytes = encoder.encode(': still here\n\n')

/**
 * The pages of the console that are open. Each has one stream, on which it is told that one of its topics changed. What
 * the change looks like is drawn and encoded once for all who watch it and told with it, so that a watcher costs no more
 * than a write; what is not drawn so, a page asks for.
 */
export class Streams implements Told {
  readonly #dependencies: ConsoleDependencies
  readonly #changes: Changes
  readonly #streams = new Set<Stream>()
  readonly #ofParty = new Map<string, number>()
  readonly #draw: Draw
  #telling: ReturnType<typeof deadline> | undefined
  #lastToldMs = Number.NEGATIVE_INFINITY
  #toldMs = Number.NEGATIVE_INFINITY

  constructor(dependencies: ConsoleDependencies, draw: Draw) {
    this.#dependencies = dependencies
    this.#draw = draw
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
    const { partyId } = watcher.viewer.user
    const mine = this.#ofParty.get(partyId) ?? 0
    if (mine >= mostOfParty || this.#streams.size >= mostStreams) return undefined
    this.#ofParty.set(partyId, mine + 1)
    try {
      await this.#changes.begin(partyId)
    } catch (error) {
      this.#oneLess(partyId)
      throw error
    }
    let stream: Stream | undefined
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          stream = this.#add(watcher, controller)
        },
        cancel: () => stream?.close(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: mostQueuedBytes }),
    )
  }

  #add({ viewer, topics, stillThere, gone }: Watcher, to: ReadableStreamDefaultController<Uint8Array>): Stream {
    let heartbeat: ReturnType<typeof deadline> | undefined
    const stream: Stream = {
      viewer,
      topics: new Set(topics),
      due: new Set(),
      send: (bytes) => {
        if ((to.desiredSize ?? 0) < bytes.length) return false
        to.enqueue(bytes)
        return true
      },
      close: () => {
        if (!this.#streams.delete(stream)) return
        heartbeat?.clear()
        this.#oneLess(viewer.user.partyId)
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
      // A browser that reads nothing connects again when it does.
      if (!isThere || !stream.send(beatBytes)) return stream.close()
      heartbeat = deadline(heartbeatMs, () => void beat())
    }
    this.#streams.add(stream)
    this.#toldMs = this.#dependencies.system.elapsed()
    stream.send(openBytes)
    heartbeat = deadline(heartbeatMs, () => void beat())
    gone.addEventListener('abort', () => stream.close())
    // Either may have come while the stream began.
    if (gone.aborted || this.#dependencies.ending.aborted) stream.close()
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
      if (stream.viewer.user.partyId !== partyId) continue
      for (const topic of topics) {
        if (!stream.topics.has(topic)) continue
        stream.due.add(topic)
        isAnyDue = true
      }
    }
    if (isAnyDue) this.#tellSoon()
  }

  #tellSoon(): void {
    // What comes right after it is told with it.
    const inMs = Math.max(gatherMs, this.#lastToldMs + this.paceMs - this.#dependencies.system.elapsed())
    this.#telling ??= deadline(inMs, () => void this.#tell())
  }

  async #tell(): Promise<void> {
    this.#lastToldMs = this.#dependencies.system.elapsed()
    this.#toldMs = this.#lastToldMs
    const told = new Map<string, { viewer: Viewer; topic: string; streams: Stream[] }>()
    for (const stream of this.#streams) {
      const { viewer } = stream
      for (const topic of stream.due) {
        const key = `${viewer.user.id} ${viewer.isProven} ${topic}`
        const one = told.get(key) ?? { viewer, topic, streams: [] }
        one.streams.push(stream)
        told.set(key, one)
      }
      stream.due.clear()
    }
    await Promise.all([...told.values()].map((one) => this.#tellOne(one)))
    this.#telling = undefined
    if ([...this.#streams].some(({ due }) => due.size > 0)) this.#tellSoon()
  }

  async #tellOne(told: { viewer: Viewer; topic: string; streams: readonly Stream[] }): Promise<void> {
    const { viewer, topic, streams } = told
    const drawn = await this.#draw(viewer, topic).catch((error) => {
      this.#dependencies.log.warn({ err: error }, 'what changed for the console was not drawn')
      return []
    })
    const inMs = Math.max(leastPaceMs / 2, this.#streams.size * askingOfWatcherMs)
    const message = (shown: readonly Drawn[]) =>
      encoder.encode(`event: changed\ndata: ${JSON.stringify({ topics: [topic], inMs, drawn: shown })}\n\n`)
    const [whole, short] = [message(drawn), message([])]
    for (const stream of streams) {
      if (!this.#streams.has(stream)) continue
      // Whoever reads slowly is told that something changed only, and whoever reads nothing connects again.
      if (!stream.send(whole) && !stream.send(short)) stream.close()
    }
  }
}
