import { deadline } from '../../../../core/system.ts'
import type { SignedIn } from '../../../oauth/sign-in.ts'
import type { ConsoleDependencies } from '../serve-page.ts'
import { Changes } from './changes.ts'

/** The maximum number of open streams for one party. In normal use, the number is far smaller. */
const maxPerParty = 200
/** The maximum number of open streams in this process. */
const maxStreams = 2000
/**
 * The interval between heartbeats. A heartbeat keeps proxies from closing an idle connection. Before each heartbeat,
 * the service checks the session, so that the stream ends soon after the viewer signs out.
 */
const heartbeatMs = 15_000
/** The time that a browser waits before it reconnects. */
const retryMs = 1000
/**
 * The shortest interval between two updates is the greater of `minPaceMs` and `pacePerPageMs` times the number of open
 * pages. This limits the total cost of updates.
 */
const minPaceMs = 500
const pacePerPageMs = 15
/**
 * After a change, the pages spread their requests for new content over a period, so that the requests do not all arrive
 * at the same time. The period lasts this time multiplied by the number of open pages, but at least half of
 * `minPaceMs`.
 */
const requestSpreadPerPageMs = 40
/** The maximum number of bytes to queue for a browser that reads slowly. */
export const maxQueuedBytes = 256 * 1024
/**
 * The shortest delay between a change and its announcement. Further changes during the delay are announced together
 * with the first.
 */
const gatherMs = 30

interface Stream {
  viewer: Viewer
  topics: ReadonlySet<string>
  /** Queues the bytes for the browser. Returns false if the queue has no room for them. */
  send(bytes: Uint8Array): boolean
  close(): void
  /** The topics that changed since the last announcement. */
  changedTopics: Set<string>
}

/** The time before which cached content counts as out of date. */
export interface Announcements {
  /**
   * The last time that pages were notified of changes or that a page connected, on the process's monotonic clock.
   * Content read before then may lack a change: one that pages were notified of, or one that a page missed while it was
   * disconnected.
   */
  readonly announcedMs: number
}

/** The signed-in viewer of a page. Both `user` and `isProven` affect what the parts of the page show. */
export type Viewer = Pick<SignedIn, 'user' | 'isProven'>

/**
 * A redrawn part of a page. `source` is the address that returns the part. If the content differs for each session, the
 * part has a `version` instead of its HTML.
 */
export type Drawn = { source: string } & ({ html: string } | { version: string })

/**
 * A function that redraws parts of pages after the data of a topic has changed. If the function leaves out a part, each
 * page requests that part itself.
 */
export type Draw = (viewer: Viewer, topic: string) => Promise<readonly Drawn[]>

/** An open page that subscribes to topics. */
export interface Watcher {
  viewer: Viewer
  topics: readonly string[]
  /** Returns whether the page's session is still valid. */
  isActive: () => Promise<boolean>
  /** Aborts when the browser disconnects. */
  gone: AbortSignal
}

const encoder = new TextEncoder()
const openBytes = encoder.encode(`retry: ${retryMs}\nevent: open\ndata: {}\n\n`)
const beatBytes = encoder.encode(': still here\n\n')

/**
 * The streams of the open console pages, one for each page. A message contains a changed topic and its redrawn parts.
 * Each message is rendered and encoded once for all pages with the same viewer, so each further page costs only a
 * write.
 */
export class Streams implements Announcements {
  readonly #dependencies: ConsoleDependencies
  readonly #changes: Changes
  readonly #streams = new Set<Stream>()
  readonly #streamCounts = new Map<string, number>()
  readonly #draw: Draw
  #pending: ReturnType<typeof deadline> | undefined
  #lastAnnouncedMs = Number.NEGATIVE_INFINITY
  #announcedMs = Number.NEGATIVE_INFINITY

  constructor(dependencies: ConsoleDependencies, render: Draw) {
    this.#dependencies = dependencies
    this.#draw = render
    this.#changes = new Changes(
      dependencies,
      () => new Set(this.#streamCounts.keys()),
      (partyId, topics) => this.#changed(partyId, topics),
    )
    dependencies.ending.addEventListener('abort', () => {
      for (const stream of [...this.#streams]) stream.close()
    })
  }

  get announcedMs(): number {
    return this.#announcedMs
  }

  /** Returns the shortest interval between two updates, in milliseconds. */
  get paceMs(): number {
    return Math.max(minPaceMs, this.#streams.size * pacePerPageMs)
  }

  /**
   * Opens a stream and returns it as the body of a response with server-sent events (HTML Living Standard, 9.2).
   * Returns undefined if too many streams are open.
   */
  async open(watcher: Watcher): Promise<ReadableStream<Uint8Array> | undefined> {
    const { partyId } = watcher.viewer.user
    const streamCount = this.#streamCounts.get(partyId) ?? 0
    if (streamCount >= maxPerParty || this.#streams.size >= maxStreams) return undefined
    this.#streamCounts.set(partyId, streamCount + 1)
    try {
      await this.#changes.begin(partyId)
    } catch (error) {
      this.#countClosed(partyId)
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
      new ByteLengthQueuingStrategy({ highWaterMark: maxQueuedBytes }),
    )
  }

  #add({ viewer, topics, isActive, gone }: Watcher, to: ReadableStreamDefaultController<Uint8Array>): Stream {
    let heartbeat: ReturnType<typeof deadline> | undefined
    const stream: Stream = {
      viewer,
      topics: new Set(topics),
      changedTopics: new Set(),
      send: (bytes) => {
        if ((to.desiredSize ?? 0) < bytes.length) return false
        to.enqueue(bytes)
        return true
      },
      close: () => {
        if (!this.#streams.delete(stream)) return
        heartbeat?.clear()
        this.#countClosed(viewer.user.partyId)
        try {
          to.close()
        } catch {
          // The browser has already closed the stream.
        }
      },
    }
    const sendHeartbeats = async () => {
      const isStillActive = await isActive().catch(() => true)
      if (!this.#streams.has(stream)) return
      // The stream is closed if the session has ended or the browser has stopped reading. If the browser only stopped
      // reading, it reconnects when it reads again.
      if (!isStillActive || !stream.send(beatBytes)) return stream.close()
      heartbeat = deadline(heartbeatMs, () => void sendHeartbeats())
    }
    this.#streams.add(stream)
    this.#announcedMs = this.#dependencies.system.elapsed()
    stream.send(openBytes)
    heartbeat = deadline(heartbeatMs, () => void sendHeartbeats())
    gone.addEventListener('abort', () => stream.close())
    // A listener is not called for a signal that was aborted before the listener was added, so both signals are checked
    // here.
    if (gone.aborted || this.#dependencies.ending.aborted) stream.close()
    return stream
  }

  #countClosed(partyId: string): void {
    const left = (this.#streamCounts.get(partyId) ?? 1) - 1
    if (left > 0) this.#streamCounts.set(partyId, left)
    else this.#streamCounts.delete(partyId)
    if (this.#streamCounts.size === 0) this.#changes.end()
  }

  #changed(partyId: string, topics: readonly string[]): void {
    let hasAnyChange = false
    for (const stream of this.#streams) {
      if (stream.viewer.user.partyId !== partyId) continue
      for (const topic of topics) {
        if (!stream.topics.has(topic)) continue
        stream.changedTopics.add(topic)
        hasAnyChange = true
      }
    }
    if (hasAnyChange) this.#announceSoon()
  }

  #announceSoon(): void {
    const inMs = Math.max(gatherMs, this.#lastAnnouncedMs + this.paceMs - this.#dependencies.system.elapsed())
    this.#pending ??= deadline(inMs, () => void this.#announce())
  }

  async #announce(): Promise<void> {
    this.#lastAnnouncedMs = this.#dependencies.system.elapsed()
    this.#announcedMs = this.#lastAnnouncedMs
    const batches = new Map<string, { viewer: Viewer; topic: string; streams: Stream[] }>()
    for (const stream of this.#streams) {
      const { viewer } = stream
      for (const topic of stream.changedTopics) {
        const key = `${viewer.user.id} ${viewer.isProven} ${topic}`
        const one = batches.get(key) ?? { viewer, topic, streams: [] }
        one.streams.push(stream)
        batches.set(key, one)
      }
      stream.changedTopics.clear()
    }
    await Promise.all([...batches.values()].map((one) => this.#announceTopic(one)))
    this.#pending = undefined
    if ([...this.#streams].some(({ changedTopics }) => changedTopics.size > 0)) this.#announceSoon()
  }

  async #announceTopic(batch: { viewer: Viewer; topic: string; streams: readonly Stream[] }): Promise<void> {
    const { viewer, topic, streams } = batch
    const rendered = await this.#draw(viewer, topic).catch((error) => {
      this.#dependencies.log.warn({ err: error }, 'a changed part of the console could not be rendered')
      return []
    })
    const inMs = Math.max(minPaceMs / 2, this.#streams.size * requestSpreadPerPageMs)
    const message = (parts: readonly Drawn[]) =>
      encoder.encode(`event: changed\ndata: ${JSON.stringify({ topics: [topic], inMs, drawn: parts })}\n\n`)
    const [whole, short] = [message(rendered), message([])]
    for (const stream of streams) {
      if (!this.#streams.has(stream)) continue
      // If a slow browser's queue has no room for the content, the browser gets only a notice of the change. If there
      // is no room for the notice either, the stream is closed and the browser reconnects.
      if (!stream.send(whole) && !stream.send(short)) stream.close()
    }
  }
}
