import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { ApiError } from '../../client/api-error.ts'
import { parseBaseUrl } from '../../config/values.ts'
import { failedResult } from '../answers/results.ts'
import type { Dependencies, Held } from '../dependencies.ts'
import { noteAnswer, noteQuestion } from '../run-notes.ts'
import {
  type AskedState,
  answerTo,
  askNoMore,
  type Fingerprint,
  isNotShown,
  maxRounds,
  modesOf,
  newKey,
  notShown,
  openPage,
  stateOf,
  waitsMs,
} from './elicitation.ts'

interface Attempt<T> {
  /** The tool's name. */
  operation: string
  /**
   * The fingerprint of the call. When the host repeats the call with the person's answer, the arguments must be the
   * same.
   */
  fingerprint: Fingerprint
  idempotencyKey: string | undefined
  /** A person's decision about the call. */
  held?: Held | undefined
  /** Carries out the call with an idempotency key. */
  perform(idempotencyKey: string | undefined): Promise<T>
}

type Outcome<T> = { done: T } | { answer: CallToolResult | InputRequiredResult }

/**
 * Carries out a call. If the service refuses it because the person must first verify with a second factor, asks the
 * host to open the page that the refusal links to. The host then repeats the call. The API request is retried with new
 * idempotency keys, because the service recorded the refusal under the old key.
 */
export async function withVerification<T>(
  dependencies: Dependencies,
  { operation, fingerprint, idempotencyKey, held, perform }: Attempt<T>,
  context: ServerContext,
): Promise<Outcome<T>> {
  const state = stateOf(context, fingerprint, 'verification')
  const answer = answerTo(context, 'verification')
  if (state !== undefined && answer.action !== 'accept') {
    const unseen = state.page !== undefined && isNotShown(dependencies, state, answer)
    if (unseen) return { answer: notShown(`at ${state.page}`) }
    const remark = 'The person at the host did not open the page to verify.'
    noteAnswer(dependencies, context, { state, operation, outcome: 'disagreed', remark })
    return { answer: failedResult(notVerified) }
  }
  try {
    if (state === undefined) return { done: await perform(idempotencyKey) }
    const done = await tryUntilVerified(dependencies, state, perform, context)
    noteAnswer(dependencies, context, { state, operation, outcome: 'agreed', remark: 'The person verified.' })
    return { done }
  } catch (error) {
    const round = (state?.round ?? 0) + 1
    const url = pageIn(error)
    if (url === undefined || round > maxRounds || !modesOf(dependencies.server, context).url) throw error
    if (round === 1) noteQuestion(dependencies, context, { way: 'page', operation, facts: [messages[0]] })
    // If the call was stored with an idempotency key until a person approved it, the new key is derived from that key.
    // All repeats of the call then use the same keys, so one approval has only one effect.
    const key = held?.call.key === undefined ? newKey(dependencies) : `${held.call.key}.page${round}`
    const next = { fingerprint: fingerprint(), step: 'verification', key, round, page: url } as const
    return { answer: await openPage(dependencies, context, { message: messages[round === 1 ? 0 : 1], url }, next) }
  }
}

const messages = [
  'This action needs your second factor. Open the page and enter the code; the action then continues automatically.',
  'Your second factor is not verified yet. Open the page and enter the code; the action then continues automatically.',
] as const

/**
 * Retries the call until the person has verified on the page that the host opened.
 * @throws the last refusal, if the person does not verify in time
 */
async function tryUntilVerified<T>(
  { system }: Dependencies,
  { key }: AskedState,
  perform: Attempt<T>['perform'],
  context: ServerContext,
): Promise<T> {
  let refusal: unknown
  for (const [index, waitMs] of waitsMs.entries()) {
    await system.sleep(waitMs, context.mcpReq.signal)
    try {
      // If the host sends the person's answer twice, both calls use the same keys, so they have only one effect.
      return await perform(`${key}.${index}`)
    } catch (error) {
      if (!needsVerification(error)) throw error
      refusal = error
    }
  }
  throw refusal
}

/** Returns whether the service refused the call because the person must first verify with a second factor. */
export function needsVerification(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'mfa_required'
}

/**
 * Returns the address at the end of a refusal that requires a second factor; undefined for any other error. Also
 * returns undefined for an unsafe address. A safe address uses https, or http on this machine.
 */
function pageIn(error: unknown): string | undefined {
  if (!needsVerification(error)) return undefined
  const address = /https?:\/\/\S+$/.exec(error.detail)?.[0]
  const isSafe = address !== undefined && parseBaseUrl(address.replace(/[?#].*$/, '')) !== undefined
  return isSafe ? new URL(address).href : undefined
}

const notVerified = {
  code: 'verification_declined',
  detail: 'The person did not open the page to verify. Nothing was done.',
  next: askNoMore,
}
