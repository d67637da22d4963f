import type { ServerContext } from '@modelcontextprotocol/server'
import type { CallOptions, CallResult } from '../../client/client.ts'
import { keepNewest } from '../../core/bounded-map.ts'
import { Failure } from '../../core/errors.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { hmac, seal, timestamp, unseal } from '../../core/system.ts'
import type { Repeated } from '../answers/results.ts'
import type { CallMemory, Dependencies, KeptCall, RepeatSettings } from '../dependencies.ts'
import type { ToolCall } from '../people/decide.ts'
import { canonical, newKey } from '../people/elicitation.ts'
import { schemaOf } from './arguments.ts'
import { readRecordStates, withCurrentValues } from './created-records.ts'
import { changesInWords, explainObsolete, ObsoleteAnswer } from './obsolete-answer.ts'
import { changedNothing, isRecordedRefusal, isStillRunning } from './refusals.ts'

type Result = CallResult<OperationDefinition>

/** The answer to a call, or the recorded answer to an equal earlier call. */
export type Sent = Result & {
  repeated?: Repeated
  /** The changes since the answer was recorded, if the host sent the key of an earlier call and got its answer. */
  remark?: string
}

/** Sends the request to the API with the given key. The client may retry it. */
type Send = (options: Pick<CallOptions, 'idempotencyKey' | 'isNewKey' | 'isRepeat' | 'signal'>) => Promise<Result>

/** The data remembered about a call, stored encrypted. */
interface Memo {
  /** The idempotency key; empty if the API takes none for the operation. */
  key: string
  /** Whether a person agreed to the call. */
  decided: boolean
  /** The answer, stored only if the API takes no key for the operation and so cannot repeat the answer. */
  answer?: Pick<Result, 'data' | 'meta'>
}

type EqualCall = KeptCall & Memo

/** Reports that an equal earlier call was refused. This call was not carried out and must be sent with a new key. */
export class RefusedBefore extends Error {
  constructor(cause: unknown) {
    super('An equal earlier call was refused.', { cause })
  }
}

/**
 * A guard against repeated calls, which models make when a host loses an answer. Calls are equal if they have the same
 * operation, arguments and run. The guard remembers the key of each call before it sends the call, and uses the same
 * key for an equal later call without its own key. The service then repeats its answer to the first call or, if that
 * call never arrived, carries out the later one.
 */
export class RepeatGuard {
  readonly #dependencies: Dependencies
  readonly #repeats: RepeatSettings
  readonly #call: ToolCall
  readonly #signal: AbortSignal
  /** A string that is the same for equal calls. */
  readonly #text: string
  /** `#text` without the call's own key. It differs from `#text` only if the call has a key, but the API takes none. */
  readonly #textWithoutKey: string
  /** Whether the API takes a key, and repeats its answer to a call with the same key. */
  readonly #apiTakesKey: boolean
  /** The arguments with their defaults, so that equal calls are equal requests. */
  readonly input: Record<string, unknown>

  constructor(dependencies: Dependencies, repeats: RepeatSettings, call: ToolCall, context: ServerContext) {
    this.#dependencies = dependencies
    this.#repeats = repeats
    this.#call = call
    this.#signal = context.mcpReq.signal
    this.input = { ...call.input, ...schemaOf(call.operation).safeParse(call.input).data }
    this.#apiTakesKey = call.operation.idempotency === 'required'
    const ownKey = this.#apiTakesKey || call.idempotencyKey === undefined ? [] : [call.idempotencyKey]
    const equal = [repeats.run ?? null, call.operation.name, this.input]
    this.#textWithoutKey = canonical(equal)
    this.#text = canonical([...equal, ...ownKey])
  }

  /** Returns whether a person agreed to an equal call that was already sent. If so, nobody is asked again. */
  async wasDecided(): Promise<boolean> {
    if (this.#call.idempotencyKey !== undefined) return false
    const equalCall = await this.#useMemory((memory) => memory.find(this.#idIn(memory), this.#repeats.windowMs))
    return equalCall?.decided === true
  }

  /**
   * Sends the call. If the API takes keys, reuses the key of an equal earlier call instead of `suppliedKey`, unless the
   * call's own arguments contain a key. If the API takes no key, an equal call is not sent again.
   * @throws {RefusedBefore} if the equal call was refused
   */
  async send(suppliedKey: string | undefined, decided: boolean, send: Send): Promise<Sent> {
    const { equalCall, ...result } = this.#apiTakesKey
      ? await this.#sendByKey(suppliedKey, decided, send)
      : await this.#sendOnce(decided, send)
    if (equalCall !== undefined) return await this.#withCurrentState(equalCall, result)
    return result.replayed && this.#call.idempotencyKey !== undefined ? await this.#withStateRemark(result) : result
  }

  /** Sends the call to an API that takes keys. Adds `equalCall` if the answer is that to an equal earlier call. */
  async #sendByKey(
    suppliedKey: string | undefined,
    decided: boolean,
    send: Send,
  ): Promise<Result & { equalCall?: EqualCall }> {
    const hasOwnKey = this.#call.idempotencyKey !== undefined
    const callKey = suppliedKey ?? newKey(this.#dependencies)
    const equalCall = await this.#claim({ key: callKey, decided })
    const isNewKey = equalCall.isFirst && suppliedKey === undefined
    const key = hasOwnKey ? callKey : equalCall.key
    try {
      const result = hasOwnKey
        ? await send({ idempotencyKey: key })
        : await this.#sendUntilAnswered(send, { idempotencyKey: key, isNewKey, isRepeat: !equalCall.isFirst })
      // The call was carried out only now, so the window for repeats starts now.
      if (!equalCall.isFirst && !result.replayed)
        await this.#restartWindow({ key, decided: decided || equalCall.decided })
      if (hasOwnKey) return result
      // The first attempt under a new key gets a replay only if an equal call was carried out first.
      const isFromEqualCall = result.replayed && (!equalCall.isFirst || (isNewKey && result.attempts === 1))
      if (isFromEqualCall) return { ...result, replayed: false, equalCall }
      // If a later attempt under a new key gets a replay, the answer is from this call's own first attempt.
      return { ...result, replayed: result.replayed && !isNewKey }
    } catch (error) {
      if (!isRecordedRefusal(error) || equalCall.key !== key) {
        if (!equalCall.isFirst) await this.#restartWindow(equalCall)
        throw error
      }
      await this.#forget(equalCall)
      throw equalCall.isFirst || hasOwnKey ? error : new RefusedBefore(error)
    }
  }

  /** Sends the call to an API that takes no key. Of several equal calls, only one is sent; all get its answer. */
  async #sendOnce(decided: boolean, send: Send): Promise<Result & { equalCall?: EqualCall }> {
    for (let waitMs = 250; ; waitMs = Math.min(2 * waitMs, 2_000)) {
      const equalCall = await this.#claim({ key: '', decided })
      if (equalCall.isFirst) return await this.#sendAndKeep(equalCall, send)
      const answer = equalCall.answer ?? (await this.#localAnswer())
      const unsent = { replayed: false, idempotencyKey: undefined, attempts: 0, equalCall }
      if (answer !== undefined) return { ...answer, ...unsent }
      if (equalCall.agoMs >= longestWaitMs) {
        const detail = `An equal call was sent at ${timestamp(equalCall.sentAtMs)}, and its answer is unknown. To repeat it on purpose, pass a new idempotencyKey.`
        throw new Failure('conflict', { detail })
      }
      await this.#dependencies.system.sleep(waitMs, this.#signal)
    }
  }

  /** Returns the answer to the equal call, with current values. @throws {ObsoleteAnswer} if that answer is obsolete */
  async #withCurrentState(equalCall: EqualCall, result: Result): Promise<Sent> {
    const { operation, input } = this.#call
    const states = await readRecordStates(this.#dependencies, { operation, input, signal: this.#signal }, result)
    const obsolete = explainObsolete(this.#dependencies, this.#call, states, `The equal call ${agoOf(equalCall)} ago`)
    if (obsolete !== undefined) throw new ObsoleteAnswer(obsolete)
    const { at, next } = this.#repeatNotice(equalCall)
    const data = withCurrentValues(operation, result.data, states)
    return { ...result, data, repeated: { at, next: `${next}${changesInWords(states)}` } }
  }

  /**
   * Adds a remark on the current state of the created records. The recorded answer itself stays unchanged, because a
   * program that repeats a key expects the same answer.
   */
  async #withStateRemark(result: Result): Promise<Sent> {
    const { operation, input } = this.#call
    const states = await readRecordStates(this.#dependencies, { operation, input, signal: this.#signal }, result)
    const obsolete = explainObsolete(this.#dependencies, this.#call, states, 'That call')
    const remark = obsolete === undefined ? changesInWords(states).trim() : `${obsolete.detail} ${obsolete.next}`
    return remark === '' ? result : { ...result, remark }
  }

  async #sendAndKeep(equalCall: EqualCall, send: Send): Promise<Sent> {
    let result: Result
    try {
      // The request continues even if the host gives up, so that a repeated call finds the answer.
      result = await send({ signal: undefined })
    } catch (error) {
      if (changedNothing(error)) await this.#forget(equalCall)
      throw error
    }
    const { data, meta } = result
    const memo = { key: '', decided: equalCall.decided, answer: { data, meta } }
    await this.#restartWindow(memo)
    // An equal later call without a key gets this answer too.
    if (this.#textWithoutKey !== this.#text) await this.#restartWindow(memo, this.#textWithoutKey)
    return { ...result, replayed: false }
  }

  async #localAnswer(): Promise<Memo['answer']> {
    const memory = await this.#repeats.memory()
    const sealed = memory.answers?.get(this.#idIn(memory))
    return sealed === undefined ? undefined : this.#unseal(memory, sealed).answer
  }

  /** Sends the call, and retries while an earlier call with the same key is still running. */
  async #sendUntilAnswered(send: Send, options: Parameters<Send>[0]): Promise<Result> {
    let [waitedMs, attempts] = [0, 1]
    for (let waitMs = 250; ; waitMs = Math.min(2 * waitMs, 2_000)) {
      try {
        const result = await send(waitedMs > 0 ? { ...options, isNewKey: false } : options)
        return { ...result, attempts: Math.max(attempts, result.attempts) }
      } catch (error) {
        if (!isStillRunning(error) || waitedMs >= longestWaitMs) throw error
        attempts = Math.max(attempts, error.attempts)
      }
      await this.#dependencies.system.sleep(waitMs, this.#signal)
      waitedMs += waitMs
    }
  }

  #repeatNotice(equalCall: EqualCall): Repeated {
    const others = this.#repeats.run === undefined ? ' Another conversation may have made that call.' : ''
    const next = `This is the answer to the same call ${agoOf(equalCall)} ago; ${toDoAgain}${others}`
    return { at: timestamp(equalCall.sentAtMs), next }
  }

  async #claim(memo: Memo): Promise<EqualCall & { isFirst: boolean }> {
    let ownId = ''
    const equalCall = await this.#useMemory((memory) => {
      ownId = this.#seal(memory, memo)
      return memory.claim(this.#idIn(memory), ownId, this.#repeats.windowMs)
    })
    return { ...equalCall, isFirst: equalCall.sealed === ownId }
  }

  /** Stores the memo. Restarts the call's time window, unless the memo is stored in the map of answers. */
  async #restartWindow({ key, decided, answer }: Memo, text = this.#text): Promise<void> {
    try {
      const memory = await this.#repeats.memory()
      const whole = this.#seal(memory, { key, decided, ...(answer === undefined ? {} : { answer }) }, text)
      const id = this.#idIn(memory, text)
      if (answer !== undefined && memory.answers !== undefined) keepNewest(memory.answers, id, whole, maxAnswers)
      else await memory.claim(id, whole, 0)
    } catch (error) {
      this.#dependencies.log.warn({ err: error }, 'the time window of a repeated call was not restarted')
    }
  }

  /** Deletes a refused call from memory. If that fails, the next equal call is refused too, and deletes the entry. */
  async #forget({ sealed }: EqualCall): Promise<void> {
    try {
      const memory = await this.#repeats.memory()
      await memory.forget(this.#idIn(memory), sealed)
    } catch (error) {
      this.#dependencies.log.warn({ err: error }, 'a refused call was not deleted from the memory')
    }
  }

  /** Asks the memory. If it fails, the call is not sent, because a repeat of the call could not be recognized. */
  async #useMemory<Found extends KeptCall | undefined>(
    ask: (memory: CallMemory) => Promise<Found>,
  ): Promise<Found extends KeptCall ? EqualCall : EqualCall | undefined> {
    try {
      const memory = await this.#repeats.memory()
      const equalCall = await ask(memory)
      return (
        equalCall === undefined ? undefined : { ...equalCall, ...this.#unseal(memory, equalCall.sealed) }
      ) as never
    } catch (error) {
      if (error instanceof Failure) throw error
      this.#dependencies.log.error({ err: error }, 'the memory of sent calls failed')
      throw new Failure('service_unavailable', { detail: 'The memory of sent calls failed. Nothing was done.' })
    }
  }

  #seal(memory: CallMemory, memo: Memo, text = this.#text): string {
    return seal(this.#dependencies.system, this.#sealKeyIn(memory, text), JSON.stringify(memo))
  }

  #unseal(memory: CallMemory, sealed: string): Memo {
    const text = unseal(this.#sealKeyIn(memory), sealed)
    if (text === undefined) throw new Error('Bug: a stored call cannot be decrypted with its own key.')
    return JSON.parse(text) as Memo
  }

  #idIn({ secret }: CallMemory, text = this.#text): string {
    return hmac(secret, `name of ${text}`)
  }

  /** Derives the encryption key from `text`, so that only an equal call can decrypt the stored data. */
  #sealKeyIn({ secret }: CallMemory, text = this.#text): string {
    return hmac(secret, `seal of ${text}`)
  }
}

function agoOf({ agoMs }: KeptCall): string {
  const seconds = Math.round(agoMs / 1000)
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
}

const toDoAgain = 'nothing was done now. To do it once more on purpose, pass a new idempotencyKey.'

/** The longest wait for an equal call that is still running. Many hosts abandon a call after a minute. */
const longestWaitMs = 45_000

/** The maximum number of answers that one process keeps in memory, if they are not stored with their calls. */
const maxAnswers = 100
