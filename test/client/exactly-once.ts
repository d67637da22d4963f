import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../src/client/api-error.ts'
import type { Client } from '../../src/client/client.ts'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { catalogue } from '../../tools/index.ts'
import { errorOf, type Host } from '../mcp/hosts.ts'

/** The result of a call, as reported to its caller. */
type Outcome =
  | { id: string }
  /** The result is unknown. Repeating the call with this idempotency key returns the result. */
  | { unknown: string }
  /** The call had no effect, and can be repeated after a wait. */
  | { retryLater: true; afterMs: number }
  | { refused: string }

export interface Caller {
  call(tool: string, input: object, idempotencyKey: string | undefined): Promise<Outcome>
}

const operations = new Map(
  Object.values<OperationDefinition>(catalogue).map((operation) => [operation.name, operation]),
)

/** Returns a caller that uses the client. The caller finds out from the fields of an error how to continue. */
export function programOver(client: Client): Caller {
  return {
    call: async (tool, input, idempotencyKey) => {
      const operation = operations.get(tool)
      if (operation === undefined) throw new Error(`no operation ${tool}`)
      try {
        const { data } = await client.call(operation, input as never, { idempotencyKey })
        return { id: (data as { id: string }).id }
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        const { outcomeUnknown, idempotencyKey: key, retryable, retryAfterSeconds = 0 } = error
        if (outcomeUnknown && key !== undefined) return { unknown: key }
        if (!outcomeUnknown && retryable) return { retryLater: true, afterMs: retryAfterSeconds * 1000 }
        return { refused: `${error.code}: ${error.detail}` }
      }
    },
  }
}

/** Returns a caller that calls tools. The caller finds out from an error result how to continue. */
export function agentOver(host: Host): Caller {
  return {
    call: async (tool, input, idempotencyKey) => {
      const result = await host.callTool(tool, { ...input, ...(idempotencyKey !== undefined && { idempotencyKey }) })
      if (result.isError !== true) return { id: String(result.structuredContent?.data.id) }
      const error = errorOf(result)
      const next = String(error.next)
      const seconds = /Wait (\d+) s\. /.exec(next)?.[1]
      if (typeof error.idempotencyKey === 'string') return { unknown: error.idempotencyKey }
      if (/(?:make this call|call) again\.$/.test(next))
        return { retryLater: true, afterMs: Number(seconds ?? 0) * 1000 }
      return { refused: JSON.stringify(error) }
    },
  }
}

/** The number of calls, and of the answers whose advice the caller had to follow. */
export interface Count {
  calls: number
  /** Calls whose result was unknown after a try. Repeating such a call with the same key returned the result. */
  unknown: number
  /** Answers that advised the caller to repeat the call later, because the call had no effect. */
  retryLater: number
}

/** A call that succeeded. No other call of the same tool has the same amount. */
export interface Intent {
  tool: string
  amount: number
  id: string
}

/** The party that pays, the payee, and the two wallets of the internal transfers. */
export interface Places {
  partyId: string
  payeeId: string
  fromWalletId: string
  toWalletId: string
}

/** The number of calls in a round. */
export const callsPerRound = 7

/**
 * Runs the rounds, at most `at` of them at a time. Repeats each call, as its answers advise, until the call succeeds.
 */
export async function moveMoney(
  caller: Caller,
  places: Places,
  { rounds, first, at: concurrency }: { rounds: number; first: number; at: number },
): Promise<{ count: Count; intents: Intent[] }> {
  const count: Count = { calls: 0, unknown: 0, retryLater: 0 }
  const intents: Intent[] = []
  const callUntilDone = async (tool: string, amount: number, input: object): Promise<string> => {
    count.calls += 1
    let key: string | undefined
    for (let tries = 1; tries <= maxTries; tries++) {
      const answer = await caller.call(tool, input, key)
      if ('id' in answer) {
        intents.push({ tool, amount, id: answer.id })
        return answer.id
      }
      if ('refused' in answer) throw new Error(`${tool} with the amount ${amount} was refused: ${answer.refused}`)
      if ('unknown' in answer) {
        if (key === undefined) count.unknown += 1
        key = answer.unknown
      } else {
        count.retryLater += 1
        await sleep(answer.afterMs)
      }
    }
    throw new Error(`${tool} with the amount ${amount} did not succeed in ${maxTries} tries`)
  }
  const left = Array.from({ length: rounds }, (_, index) => first + index).values()
  const lane = async () => {
    for (const number of left) await runRound(number, places, callUntilDone)
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
  return { count, intents }
}

/** The maximum number of tries per call. In each try, the client sends at most four requests. */
const maxTries = 20

type CallUntilDone = (tool: string, amount: number, input: object) => Promise<string>

async function runRound(number: number, places: Places, callUntilDone: CallUntilDone): Promise<void> {
  const { partyId, payeeId, fromWalletId, toWalletId } = places
  const [large, small] = [100_000 + number, 1 + number]
  const merchant = { name: `Shop ${number}` }
  const dollars = (amount: number) => ({ amount, currency: 'USD' })
  await callUntilDone('fund_sandbox_wallet', 2 * large, { customerId: partyId, amount: 2 * large })
  const maximum = { merchant, maximumAmount: large, currency: 'USD' }
  const cardId = await callUntilDone('issue_agent_card', large, maximum)
  const purchase = { cardId, merchant, ...dollars(large) }
  const cardTransactionId = await callUntilDone('simulate_card_authorization', large, purchase)
  await callUntilDone('simulate_card_capture', large, { cardTransactionId, ...dollars(large) })
  await callUntilDone('simulate_card_refund', small, { cardTransactionId, ...dollars(small) })
  const payee = { type: 'party_id', value: payeeId }
  await callUntilDone('create_payment', small, { amount: small, counterparty: payee })
  const wallets = { sourceWalletId: fromWalletId, destWalletId: toWalletId }
  await callUntilDone('create_internal_transfer', small, { amount: small, ...wallets })
}
