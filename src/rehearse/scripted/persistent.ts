import { catalogue, type OperationKey } from '../../../tools/index.ts'
import type { Outcome, Tools } from './tools.ts'

/** The maximum number of tries of a call. In every scenario, the faults end after fewer tries. */
const maxTries = 5

/** The codes of temporary errors, after which the same call may succeed. */
const transientCodes: ReadonlySet<string> = new Set([
  'service_unavailable',
  'rate_limited',
  'bad_gateway',
  'server_error',
])

/** Wraps tools so that a call without a final answer is retried with the same idempotency key. */
export function persistent({ call, newKey, ask }: Tools): Tools {
  return {
    newKey,
    ask,
    call: async (operation, input, extra) => {
      const key = newKeyArgument(operation, newKey)
      for (let tries = 1; ; tries++) {
        const outcome = await call(operation, input, { ...key, ...extra })
        if (isFinal(outcome) || tries === maxTries) return outcome
      }
    },
  }
}

function isFinal(outcome: Outcome<unknown>): boolean {
  return outcome.kind === 'answered' || (outcome.kind === 'refused' && !transientCodes.has(outcome.code))
}

/** Wraps tools so that every call gets a new idempotency key, even if it repeats an earlier call. */
export function withNewKeys({ call, newKey, ask }: Tools): Tools {
  return {
    newKey,
    ask,
    call: (operation, input, extra) => call(operation, input, { ...newKeyArgument(operation, newKey), ...extra }),
  }
}

function newKeyArgument(operation: OperationKey, newKey: () => string): Record<string, string> {
  return catalogue[operation].idempotency === 'required' ? { idempotencyKey: newKey() } : {}
}
