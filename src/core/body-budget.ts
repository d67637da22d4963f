import { Failure } from './errors.ts'

const mebibyte = 1024 * 1024

/** The most request bytes that one process reads at one time. */
export interface BodyBounds {
  /** From one credential; from one address, where the credential is not known. */
  each: number
  /** From all senders whose credential is being looked up. */
  lookedUp: number
  /** From all senders without a known credential together, so that they leave room for the others. */
  strangers: number
  all: number
}

const usual: BodyBounds = { each: 16 * mebibyte, lookedUp: 4 * mebibyte, strangers: 64 * mebibyte, all: 128 * mebibyte }

/** Node reads as much of a body before anybody asks for it. */
const readAhead = 64 * 1024
/** A body that is read before its sender is known is no longer than this. */
export const smallBodyBytes = 32 * 1024

/** One body while it is read. */
export interface BodyCount {
  /** Counts bytes that arrived, or that the sender announced. @throws Failure 429 or 503 where they are too many */
  add(bytes: number): void
  /** Gives back all that was counted. */
  end(): void
}

/** A request body that has begun to arrive over the network. */
export interface ArrivingBody {
  /** Whether it counts for the client's address: then it may be read before its sender is known. */
  readonly isOfAddress: boolean
  /** Begins to read it for somebody unknown. @throws Failure 429 or 503 where that is too much */
  byAddress(): BodyCount
  /** Begins to read it for a credential that was looked up. */
  byKey(keyId: string): BodyCount
  end(): void
}

interface Arrival {
  address: string
  /** The length that the sender announced; infinite for a body that comes in chunks. */
  announced: number
  /** Whether it says whose it is, which is not checked yet. */
  hasCredential: boolean
}

/**
 * Counts the request bytes that a process holds while bodies arrive, over all doors (docs/service.md#bodies-that-arrive). A
 * sender that announces a length is counted with it from the beginning: of many bodies that begin at once, some arrive
 * completely, and the others are refused before they take any memory.
 */
export class BodyBudget {
  readonly #bounds: BodyBounds
  readonly #held = new Map<string, number>()
  #strangers = 0
  #all = 0

  constructor(bounds: BodyBounds = usual) {
    this.#bounds = bounds
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#all
  }

  /**
   * Takes in a request with a body. A small one counts for the client's address. Where that has used up its share, and where
   * the body is large, the credential is looked up first, which keeps the body here only for a moment: so nobody at an
   * address is kept out by others who have no credential.
   * @throws Failure 429 or 503
   */
  arrive({ address, announced, hasCredential }: Arrival): ArrivingBody {
    const byAddress = () => this.#counting(`address ${address}`, true)
    let isOfAddress = announced <= smallBodyBytes || !hasCredential
    let count = isOfAddress ? byAddress() : this.#counting(lookUp, false)
    const bytes = Math.min(announced, readAhead)
    try {
      count.add(bytes)
    } catch (error) {
      if (!isOfAddress || !hasCredential) throw error
      isOfAddress = false
      count = this.#counting(lookUp, false)
      count.add(bytes)
    }
    const next = (counting: () => BodyCount) => {
      count.end()
      return counting()
    }
    return {
      isOfAddress,
      byAddress: () => next(byAddress),
      byKey: (keyId) => next(() => this.#counting(`key ${keyId}`, false)),
      end: () => count.end(),
    }
  }

  #counting(holder: string, isStranger: boolean): BodyCount {
    let counted = 0
    return {
      add: (bytes) => {
        const { each, lookedUp, strangers, all } = this.#bounds
        const isLookedUp = holder === lookUp
        const isFull = (this.#held.get(holder) ?? 0) + bytes > (isLookedUp ? lookedUp : each)
        if (isFull && !isLookedUp) throw tooManyOf(holder, each)
        const isTooMany = this.#all + bytes > all || (isStranger && this.#strangers + bytes > strangers)
        if (isFull || isTooMany) throw tooManyOfAll()
        counted += bytes
        this.#count(holder, isStranger, bytes)
      },
      end: () => {
        this.#count(holder, isStranger, -counted)
        counted = 0
      },
    }
  }

  #count(holder: string, isStranger: boolean, bytes: number): void {
    if (bytes === 0) return
    const held = (this.#held.get(holder) ?? 0) + bytes
    if (held === 0) this.#held.delete(holder)
    else this.#held.set(holder, held)
    this.#all += bytes
    if (isStranger) this.#strangers += bytes
  }
}

/** The holder that all senders share while their credentials are looked up. */
const lookUp = 'look-up'

function tooManyOf(holder: string, most: number): Failure {
  const sender = holder.startsWith('key ') ? 'this credential' : 'this address'
  const detail = `${most} bytes of request bodies from ${sender} are arriving already, which is the most at one time. Nothing was carried out: complete or close the requests that you began, and send this one again in a second.`
  return new Failure('rate_limited', { detail, retryAfterSeconds: 1 })
}

function tooManyOfAll(): Failure {
  const detail =
    'As many request bodies are arriving as the service reads at one time. Nothing was carried out: send the request again in a second.'
  return new Failure('service_unavailable', { detail, retryAfterSeconds: 1 })
}
