import { keepNewest } from './bounded-map.ts'
import { Failure } from './errors.ts'

const mib = 1024 * 1024

/** The maximum numbers of request body bytes that one process reads at the same time. */
export interface BodyBounds {
  /** The bytes from one credential, or from one address while the credential is unknown. */
  each: number
  /** The bytes from all senders whose credential is being looked up. One credential may use half of them. */
  lookedUp: number
  /** The bytes from all senders without a known credential. The rest of `all` is for other senders. */
  unknownSenders: number
  all: number
}

const defaultBounds: BodyBounds = { each: 16 * mib, lookedUp: 8 * mib, unknownSenders: 64 * mib, all: 128 * mib }

/** The body bytes that Node reads before the program asks for them. */
const readAhead = 64 * 1024
/** The longest body that is read before its sender is known. */
export const smallBodyBytes = 32 * 1024

/** One body while it is being read. */
export interface BodyCount {
  /** Returns the parts of the body as they arrive. The caller may free their memory. */
  readonly parts: () => AsyncIterable<Uint8Array>
  /** Counts bytes that arrived, or that the sender announced. @throws Failure 429 or 503 if there are too many. */
  add(bytes: number): void
  /** Releases all bytes that were counted. */
  end(): void
}

/** A request body that has begun to arrive over the network. */
export interface ArrivingBody {
  /** Whether the body counts against the client's address. Such a body may be read before its sender is known. */
  readonly countsAgainstAddress: boolean
  /** Begins to read the body, counted against the address. The sender is unknown. */
  byAddress(): BodyCount
  /** Begins to read the body, counted against the key of the credential, which was looked up. */
  byKey(keyId: string): BodyCount
  end(): void
}

interface Arrival {
  address: string
  /** The length that the sender announced; infinite for a chunked body. */
  announced: number
  /** The hash of the request's credential, which is not yet checked; undefined if the request has none. */
  credential: string | undefined
  parts: () => AsyncIterable<Uint8Array>
}

/** The maximum number of remembered credentials. Any other credential is looked up before its request is refused. */
const maxCredentials = 10_000

/** A counter of bytes: its name and its limit. */
type Counter = [name: string, max: number]

/**
 * Counts and limits the bytes of arriving request bodies in a process, for all endpoints together
 * (docs/service.md#limits-of-request-bodies). A body of announced length is counted completely before it is read. So
 * when many bodies begin at once, some arrive completely, and the others are refused before they take much memory.
 */
export class BodyBudget {
  readonly #bounds: BodyBounds
  readonly #held = new Map<string, number>()
  /** The key id of each credential that sent a body, by the hash of the credential. */
  readonly #keys = new Map<string, string>()

  constructor(bounds: BodyBounds = defaultBounds) {
    this.#bounds = bounds
  }

  /** The number of bytes that are held now. */
  get held(): number {
    return this.#countOf('all')
  }

  /**
   * Admits a request with a body. A body that is small or has no credential counts against the client's address. If a
   * body with a credential is large, or the address has used up its share, the body counts against the credential,
   * which is looked up before the body is read. So clients without a credential cannot lock out others at their
   * address. A credential that sent a body before and has used up its share is refused without another look-up.
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
    // The endpoint itself refuses a body longer than the share, so only the part that Node reads ahead counts.
    const bytes = announced > each ? readAhead : announced
    if (this.#countOf(holder) + bytes > each) throw tooManyOf(holder, each)
  }

  /**
   * Counts the bytes of a body in several counters.
   * @param own The counter of the sender. The shared counters also count the bytes of other senders.
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
