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
  /** The current state of the records, if this is the recorded answer under the call's own key. */
  remark?: string
}

/** Sends the request once, with the given key. */
type Send = (options: Pick<CallOptions, 'idempotencyKey' | 'isNewKey' | 'isRepeat' | 'signal'>) => Promise<Result>

/** The memory of a call, stored sealed. */
interface Memo {
  key: string
  /** Whether a person agreed to it. */
  decided: boolean
  /** The answer, stored only if the API takes no key for the operation and so cannot repeat the answer. */
  answer?: Pick<Result, 'data' | 'meta'>
}

type EqualCall = KeptCall & Memo

/** The error for an equal earlier call that was refused. Nothing was done, so this call must be sent as a new one. */
export class RefusedBefore extends Error {
  constructor(cause: unknown) {
    super('The equal call before was refused.', { cause })
  }
}

/**
 * A guard against repeated calls. It remembers the key of a call before the call is first sent, because hosts lose
 * answers and models call again. An equal call without its own key is sent under the same one. The service then repeats
 * its answer. If the first call never arrived, the service carries it out now, once.
 */
export class RepeatGuard {
  readonly #dependencies: Dependencies
  readonly #repeats: RepeatSettings
  readonly #call: ToolCall
  readonly #signal: AbortSignal
  /** A text that is the same for equal calls. */
  readonly #text: string
  /** The same text without the call's own key, for operations whose key only the memory knows. */
  readonly #textWithoutKey: string
  /** Whether the API repeats its answer under the same key. */
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

  /** Returns whether a person agreed to an equal call that was sent; then nobody is asked again. */
  async wasDecided(): Promise<boolean> {
    if (this.#call.idempotencyKey !== undefined) return false
    const equalCall = await this.#useMemory((memory) => memory.find(this.#idIn(memory), this.#repeats.windowMs))
    return equalCall?.decided === true
  }

  /**
   * Sends the call. If an equal call was sent, uses its key instead of `suppliedKey`. A key among the call's own
   * arguments always wins, and is remembered.
   * @throws {RefusedBefore}
   */
  async send(suppliedKey: string | undefined, decided: boolean, send: Send): Promise<Sent> {
    const { equalCall, ...result } = this.#apiTakesKey
      ? await this.#sendByKey(suppliedKey, decided, send)
      : await this.#sendOnce(decided, send)
    if (equalCall !== undefined) return await this.#withCurrentState(equalCall, result)
    return result.replayed && this.#call.idempotencyKey !== undefined ? await this.#withStateRemark(result) : result
  }

  /** Sends the call under its key. Returns `equalCall` if the answer belongs to that earlier call. */
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
      // The first attempt under a new key gets a replay only if an equal call was faster.
      const isFromEqualCall = result.replayed && (!equalCall.isFirst || (isNewKey && result.attempts === 1))
      if (isFromEqualCall) return { ...result, replayed: false, equalCall }
      // A later attempt under a new key replays the answer to the first one.
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

  /** Sends only one of several equal calls to an API without keys; the others wait for its answer, which is stored. */
  async #sendOnce(decided: boolean, send: Send): Promise<Result & { equalCall?: EqualCall }> {
    for (let waitMs = 250; ; waitMs = Math.min(2 * waitMs, 2_000)) {
      const equalCall = await this.#claim({ key: '', decided })
      if (equalCall.isFirst) return await this.#sendAndKeep(equalCall, send)
      const answer = equalCall.answer ?? (await this.#localAnswer())
      const unsent = { replayed: false, idempotencyKey: undefined, attempts: 0, equalCall }
      if (answer !== undefined) return { ...answer, ...unsent }
      if (equalCall.agoMs >= longestWaitMs) {
        const detail = `An equal call was sent at ${timestamp(equalCall.sentAtMs)}, and its answer is not known. To repeat it on purpose, pass a new idempotencyKey.`
        throw new Failure('conflict', { detail })
      }
      await this.#dependencies.system.sleep(waitMs, this.#signal)
    }
  }

  /** Returns the answer to the equal call, with its records' current values. @throws {ObsoleteAnswer} */
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
   * Adds a remark on the current state. The recorded answer itself stays unchanged, because a program that repeats a
   * key expects the same answer.
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
      // The request continues even if the host gives up, so that its repeat finds the answer.
      result = await send({ signal: undefined })
    } catch (error) {
      if (changedNothing(error)) await this.#forget(equalCall)
      throw error
    }
    const { data, meta } = result
    const memo = { key: '', decided: equalCall.decided, answer: { data, meta } }
    await this.#restartWindow(memo)
    // A later call without a key gets this answer too.
    if (this.#textWithoutKey !== this.#text) await this.#restartWindow(memo, this.#textWithoutKey)
    return { ...result, replayed: false }
  }

  async #localAnswer(): Promise<Memo['answer']> {
    const memory = await this.#repeats.memory()
    const sealed = memory.answers?.get(this.#idIn(memory))
    return sealed === undefined ? undefined : this.#unseal(memory, sealed).answer
  }

  /** Waits for an equal call that still runs under the key, for at most as long as hosts wait. */
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

  /** Restarts the window of the call, under the key that it was last sent with. */
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

  /** Deletes a call. If that fails, the next equal call deletes it. */
  async #forget({ sealed }: EqualCall): Promise<void> {
    try {
      const memory = await this.#repeats.memory()
      await memory.forget(this.#idIn(memory), sealed)
    } catch (error) {
      this.#dependencies.log.warn({ err: error }, 'a refused call was not deleted from the memory')
    }
  }

  /**
   * Runs a step on the memory. If the memory fails, the call is not sent, because a repeat could not be recognized.
   */
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
      throw new Failure('service_unavailable', { detail: 'The memory of sent calls is busy. Nothing was done.' })
    }
  }

  #seal(memory: CallMemory, memo: Memo, text = this.#text): string {
    return seal(this.#dependencies.system, this.#sealKeyIn(memory, text), JSON.stringify(memo))
  }

  #unseal(memory: CallMemory, sealed: string): Memo {
    const text = unseal(this.#sealKeyIn(memory), sealed)
    if (text === undefined) throw new Error('Bug: a stored call does not open with its own key.')
    return JSON.parse(text) as Memo
  }

  #idIn({ secret }: CallMemory, text = this.#text): string {
    return hmac(secret, `name of ${text}`)
  }

  /** Derives the key of the seal from the call's text, so that only an equal call can open it. */
  #sealKeyIn({ secret }: CallMemory, text = this.#text): string {
    return hmac(secret, `seal of ${text}`)
  }
}

function agoOf({ agoMs }: KeptCall): string {
  const seconds = Math.round(agoMs / 1000)
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
}

const toDoAgain = 'nothing was done now. To do it once more on purpose, pass a new idempotencyKey.'

/** Less than the minute that hosts give a call. */
const longestWaitMs = 45_000

/** The most answers that one process keeps separately from the calls. */
const maxAnswers = 100
