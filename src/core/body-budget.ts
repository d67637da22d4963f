import { keepNewest } from './bounded-map.ts'
import { Failure } from './errors.ts'

const mib = 1024 * 1024

/** Limits on the bytes of request bodies that one process may be reading at the same time. */
export interface BodyBounds {
  /** The limit for one credential that was looked up, or for one IP address. */
  each: number
  /**
   * The limit for all bodies whose credential is being looked up. A single credential may use at most half of this
   * limit.
   */
  lookedUp: number
  /** The limit for all bodies that count against an IP address. The rest of `all` stays free for the other bodies. */
  unknownSenders: number
  all: number
}

const defaultBounds: BodyBounds = { each: 16 * mib, lookedUp: 8 * mib, unknownSenders: 64 * mib, all: 128 * mib }

/** How many bytes of a body Node.js may read before the program asks for them. */
const readAhead = 64 * 1024
/** The maximum length of a small body, which may be read before its sender is known. */
export const smallBodyBytes = 32 * 1024

/** Counts the bytes of one body while it is being read. */
export interface BodyCount {
  /** Returns the parts of the body as they arrive. The caller may free their memory. */
  readonly parts: () => AsyncIterable<Uint8Array>
  /**
   * Counts bytes that arrived, or that the sender announced.
   * @throws Failure 429 or 503 if a limit is exceeded.
   */
  add(bytes: number): void
  /** Subtracts the bytes of this body from all counters. */
  end(): void
}

/** A request body that has begun to arrive over the network. */
export interface ArrivingBody {
  /** Whether the body counts against the client's IP address. Such a body may be read before its sender is known. */
  readonly countsAgainstAddress: boolean
  /** Begins to count the body against the client's IP address, for a sender who is not known. */
  byAddress(): BodyCount
  /** Begins to count the body against the key that was found for its credential. */
  byKey(keyId: string): BodyCount
  end(): void
}

interface Arrival {
  address: string
  /** The length that the sender announced; infinite for a chunked body. */
  announced: number
  /** The hash of the request's credential, before the credential is checked; undefined if the request has none. */
  credential: string | undefined
  parts: () => AsyncIterable<Uint8Array>
}

/**
 * The maximum number of credentials whose key ids are remembered. For any other credential, the share of the key is
 * checked only after a look-up.
 */
const maxCredentials = 10_000

/** A counter of bytes: its name and its limit. */
type Counter = [name: string, max: number]

/**
 * Counts and limits the bytes of arriving request bodies in a process, for all endpoints together
 * (docs/service.md#limits-of-request-bodies). A body with an announced length is counted in full before it is read. So
 * if many bodies begin to arrive at the same time, some are read to the end. The others are refused before they take
 * much memory.
 */
export class BodyBudget {
  readonly #bounds: BodyBounds
  readonly #held = new Map<string, number>()
  /** Maps the hash of each remembered credential to its key id. */
  readonly #keys = new Map<string, string>()

  constructor(bounds: BodyBounds = defaultBounds) {
    this.#bounds = bounds
  }

  /** The number of bytes that are counted now, for all bodies together. */
  get held(): number {
    return this.#countOf('all')
  }

  /**
   * Admits a request with a body. A body counts against the client's IP address if it is small or has no credential. A
   * large body with a credential counts against the credential, which is looked up before the body is read. A small
   * body with a credential also counts against the credential if the address has used up its share, so that clients
   * without a credential cannot lock out others at the same address. If the credential of a large body is remembered,
   * and its key has used up its share, the request is refused without a look-up.
   * @throws Failure 429 or 503
   */
  arrive({ address, announced, credential, parts }: Arrival): ArrivingBody {
    const { each, lookedUp, unknownSenders } = this.#bounds
    const hasCredential = credential !== undefined
    if (hasCredential && announced > smallBodyBytes) this.#requireShare(credential, announced)
    const byAddress = () => this.#bodyCount(parts, [`address ${address}`, each], ['unknownSenders', unknownSenders])
    const byCredential = () =>
      this.#bodyCount(parts, [`credential ${credential}`, lookedUp / 2], ['looked up', lookedUp])
    let countsAgainstAddress = announced <= smallBodyBytes || !hasCredential
    let count = countsAgainstAddress ? byAddress() : byCredential()
    const bytes = Math.min(announced, readAhead)
    try {
      count.add(bytes)
    } catch (error) {
      if (!countsAgainstAddress || !hasCredential) throw error
      countsAgainstAddress = false
      count = byCredential()
      count.add(bytes)
    }
    const next = (begin: () => BodyCount) => {
      count.end()
      return begin()
    }
    return {
      countsAgainstAddress,
      byAddress: () => next(byAddress),
      byKey: (keyId) => {
        if (hasCredential) keepNewest(this.#keys, credential, keyId, maxCredentials)
        return next(() => this.#bodyCount(parts, [`key ${keyId}`, each]))
      },
      end: () => count.end(),
    }
  }

  #requireShare(credential: string, announced: number): void {
    const { each } = this.#bounds
    const holder = `key ${this.#keys.get(credential)}`
    // A body longer than the share is refused by its endpoint, and the length of a chunked body is unknown. In both
    // cases, only the bytes that Node.js reads ahead count here.
    const bytes = announced > each ? readAhead : announced
    if (this.#countOf(holder) + bytes > each) throw tooManyOf(holder, each)
  }

  /**
   * Creates a count that adds the bytes of a body to several counters.
   * @param own The sender's counter.
   * @param shared Counters that also count the bytes of other senders.
   */
  #bodyCount(parts: BodyCount['parts'], own: Counter, ...shared: Counter[]): BodyCount {
    const counters: Counter[] = [own, ...shared, ['all', this.#bounds.all]]
    let counted = 0
    return {
      parts,
      add: (bytes) => {
        const full = counters.find(([name, limit]) => this.#countOf(name) + bytes > limit)
        if (full !== undefined) throw full === own ? tooManyOf(...own) : tooManyOfAll()
        counted += bytes
        this.#count(counters, bytes)
      },
      end: () => {
        this.#count(counters, -counted)
        counted = 0
      },
    }
  }

  #countOf(name: string): number {
    return this.#held.get(name) ?? 0
  }

  #count(counters: Counter[], bytes: number): void {
    for (const [name] of counters) {
      const held = this.#countOf(name) + bytes
      if (held === 0) this.#held.delete(name)
      else this.#held.set(name, held)
    }
  }
}

function tooManyOf(name: string, limit: number): Failure {
  const sender = name.startsWith('address ') ? 'this address' : 'this credential'
  const detail = `At most ${limit} bytes of request bodies from ${sender} may arrive at the same time. Nothing was done: finish or close the open requests, and send this request again in a second.`
  return new Failure('rate_limited', { detail, retryAfterSeconds: 1 })
}

function tooManyOfAll(): Failure {
  const detail =
    'The service is reading as many request bodies as it can. Nothing was done: send the request again in a second.'
  return new Failure('service_unavailable', { detail, retryAfterSeconds: 1 })
}
