import { deadline } from '../../../../core/system.ts'
import type { SignedIn } from '../../../oauth/sign-in.ts'
import type { ConsoleDependencies } from '../serve-page.ts'
import { Changes } from './changes.ts'

/** Limits on the open streams of one party and of this process. Normal use stays far below them. */
const maxPerParty = 200
const maxStreams = 2000
/**
 * The interval of heartbeats. Proxies close connections that are silent for longer. Each heartbeat also detects that a
 * viewer has signed out.
 */
const heartbeatMs = 15_000
/** The time a browser waits before it reconnects, in milliseconds. */
const retryMs = 1000
/**
 * The shortest interval between updates of a page is `minPaceMs`, or `paceOfWatcherMs` for each watcher if that is
 * longer. This limits the total cost of updates.
 */
const minPaceMs = 500
const paceOfWatcherMs = 15
/** The time for each watcher. Over the total time, pages spread their requests for changed content. */
const askingOfWatcherMs = 40
/** The most bytes queued for a browser that reads slowly. */
export const maxQueuedBytes = 256 * 1024
/** Changes within this time are sent together. */
const gatherMs = 30

interface Stream {
  viewer: Viewer
  topics: ReadonlySet<string>
  /** Sends the bytes; false if the queue has no room for them. */
  send(bytes: Uint8Array): boolean
  close(): void
  /** The topics that changed since the last message. */
  due: Set<string>
}

/** The time of the last message to the pages. */
export interface Announcements {
  /**
   * Content read before this time may lack a change that a page was notified of, or that happened while it was
   * disconnected.
   */
  readonly announcedMs: number
}

/** The viewer of a page. A part shows only the data and forms that this user and this session may see. */
export type Viewer = Pick<SignedIn, 'user' | 'isProven'>

/** A part of a page, with its address. If the part differs for each session, only its `version` is sent. */
export type Drawn = { source: string } & ({ html: string } | { version: string })

/** A function that draws the parts that the viewers of a topic share. Pages request other parts themselves. */
export type Draw = (viewer: Viewer, topic: string) => Promise<readonly Drawn[]>

/** A page that subscribes to topics, with a check that its session is still valid. */
export interface Watcher {
  viewer: Viewer
  topics: readonly string[]
  isActive: () => Promise<boolean>
  /** Aborts when the browser disconnects. */
  gone: AbortSignal
}

const encoder = new TextEncoder()
const openBytes = encoder.encode(`retry: ${retryMs}\nevent: open\ndata: {}\n\n`)
const beatBytes = encoder.encode(': still here\n\n')

/**
 * The streams of the open console pages, one for each page. A message reports a changed topic and carries the new
 * content. The content is rendered and encoded once for all pages of a user, so each extra page costs only a write.
 * Pages request everything else themselves.
 */
export class Streams implements Announcements {
  readonly #dependencies: ConsoleDependencies
  readonly #changes: Changes
  readonly #streams = new Set<Stream>()
  readonly #ofParty = new Map<string, number>()
  readonly #draw: Draw
  #pending: ReturnType<typeof deadline> | undefined
  #lastAnnouncedMs = Number.NEGATIVE_INFINITY
  #announcedMs = Number.NEGATIVE_INFINITY

  constructor(dependencies: ConsoleDependencies, render: Draw) {
    this.#dependencies = dependencies
    this.#draw = render
    this.#changes = new Changes(
      dependencies,
      () => new Set(this.#ofParty.keys()),
      (partyId, topics) => this.#changed(partyId, topics),
    )
    dependencies.ending.addEventListener('abort', () => {
      for (const stream of [...this.#streams]) stream.close()
    })
  }

  get announcedMs(): number {
    return this.#announcedMs
  }

  /** Returns the shortest interval between messages to a page, in milliseconds. */
  get paceMs(): number {
    return Math.max(minPaceMs, this.#streams.size * paceOfWatcherMs)
  }

  /** Opens a body of server-sent events (HTML Living Standard, 9.2); undefined if there are too many watchers. */
  async open(watcher: Watcher): Promise<ReadableStream<Uint8Array> | undefined> {
    const { partyId } = watcher.viewer.user
    const streamCount = this.#ofParty.get(partyId) ?? 0
    if (streamCount >= maxPerParty || this.#streams.size >= maxStreams) return undefined
    this.#ofParty.set(partyId, streamCount + 1)
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
      new ByteLengthQueuingStrategy({ highWaterMark: maxQueuedBytes }),
    )
  }

  #add({ viewer, topics, isActive, gone }: Watcher, to: ReadableStreamDefaultController<Uint8Array>): Stream {
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
          // The browser has already closed the stream.
        }
      },
    }
    const sendHeartbeats = async () => {
      const isThere = await isActive().catch(() => true)
      if (!this.#streams.has(stream)) return
      // If the browser has stopped reading, the stream is closed. The browser reconnects when it resumes.
      if (!isThere || !stream.send(beatBytes)) return stream.close()
      heartbeat = deadline(heartbeatMs, () => void sendHeartbeats())
    }
    this.#streams.add(stream)
    this.#announcedMs = this.#dependencies.system.elapsed()
    stream.send(openBytes)
    heartbeat = deadline(heartbeatMs, () => void sendHeartbeats())
    gone.addEventListener('abort', () => stream.close())
    // The browser may have disconnected, or the service begun to stop, while the stream started.
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
    if (isAnyDue) this.#announceSoon()
  }

  #announceSoon(): void {
    // Changes that follow within this time go into the same message.
    const inMs = Math.max(gatherMs, this.#lastAnnouncedMs + this.paceMs - this.#dependencies.system.elapsed())
    this.#pending ??= deadline(inMs, () => void this.#announce())
  }

  async #announce(): Promise<void> {
    this.#lastAnnouncedMs = this.#dependencies.system.elapsed()
    this.#announcedMs = this.#lastAnnouncedMs
    const batches = new Map<string, { viewer: Viewer; topic: string; streams: Stream[] }>()
    for (const stream of this.#streams) {
      const { viewer } = stream
      for (const topic of stream.due) {
        const key = `${viewer.user.id} ${viewer.isProven} ${topic}`
        const one = batches.get(key) ?? { viewer, topic, streams: [] }
        one.streams.push(stream)
        batches.set(key, one)
      }
      stream.due.clear()
    }
    await Promise.all([...batches.values()].map((one) => this.#announceTopic(one)))
    this.#pending = undefined
    if ([...this.#streams].some(({ due }) => due.size > 0)) this.#announceSoon()
  }

  async #announceTopic(batch: { viewer: Viewer; topic: string; streams: readonly Stream[] }): Promise<void> {
    const { viewer, topic, streams } = batch
    const rendered = await this.#draw(viewer, topic).catch((error) => {
      this.#dependencies.log.warn({ err: error }, 'a changed part of the console could not be rendered')
      return []
    })
    const inMs = Math.max(minPaceMs / 2, this.#streams.size * askingOfWatcherMs)
    const message = (parts: readonly Drawn[]) =>
      encoder.encode(`event: changed\ndata: ${JSON.stringify({ topics: [topic], inMs, drawn: parts })}\n\n`)
    const [whole, short] = [message(rendered), message([])]
    for (const stream of streams) {
      if (!this.#streams.has(stream)) continue
      // A browser that reads slowly gets only the notice that something changed. If its queue has no room even for
      // that, it must reconnect.
      if (!stream.send(whole) && !stream.send(short)) stream.close()
    }
  }
}
