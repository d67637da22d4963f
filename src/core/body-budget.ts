import { keepNewest } from './bounded-map.ts'
import { Failure } from './errors.ts'

const mib = 1024 * 1024

/** Bounds on the request bytes that one process reads at a time. */
export interface BodyBounds {
  /** The bytes for one credential, or for one address while the credential is unknown. */
  each: number
  /** The bytes for all senders whose credential is being looked up. One credential may use half of them. */
  lookedUp: number
  /** The bytes for all senders without a known credential. The limit leaves room for the other senders. */
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
  /** The body as it arrives. The reader owns the memory of its parts. */
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
  /** Begins to read the body for an unknown sender. @throws Failure 429 or 503 if there are too many bytes. */
  byAddress(): BodyCount
  /** Begins to read the body for a credential that was looked up. */
  byKey(keyId: string): BodyCount
  end(): void
}

interface Arrival {
  address: string
  /** The length that the sender announced; infinite for a body that comes in chunks. */
  announced: number
  /** The hash of the request's credential, which is not checked yet; undefined if there is none. */
  credential: string | undefined
  parts: () => AsyncIterable<Uint8Array>
}

/** The most credentials that are remembered. Any other credential is looked up again before its request is refused. */
const maxCredentials = 10_000

/** A named counter of bytes, with its limit. */
type Counter = [name: string, max: number]

/**
 * Counts the request bytes that a process holds while bodies arrive, across all endpoints
 * (docs/service.md#limits-of-request-bodies). If the sender announces a length, all of it is counted at the start. So
 * when many bodies begin at once, some arrive completely, and the others are refused before they take any memory.
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
   * Admits a request with a body. A small body counts against the client's address. If the body is large, or the
   * address has used up its share, the credential is looked up first, and the body counts here only until then. So
   * clients without a credential cannot lock out others at their address. A credential that sent a body before and has
   * used up its share is refused without another look-up.
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
   * Counts bytes on several accounts.
   * @param account The sender's account. The shared accounts also count the bytes of other senders.
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
  const detail = `${limit} bytes of request bodies from ${sender} are already arriving, which is the limit. Nothing was done: finish or close the open requests, and send this one again in a second.`
  return new Failure('rate_limited', { detail, retryAfterSeconds: 1 })
}

function tooManyOfAll(): Failure {
  const detail =
    'The service is reading as many request bodies as it can. Nothing was done: send the request again in a second.'
  return new Failure('service_unavailable', { detail, retryAfterSeconds: 1 })
}
