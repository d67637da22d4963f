import { catalogue, type OperationKey } from '../../../tools/index.ts'
import type { Outcome, Tools } from './tools.ts'

/** The maximum number of tries, which is more than any scenario's faults require. */
const maxTries = 5

/** Temporary errors, after which it is unknown whether the call was carried out. */
const transientCodes: ReadonlySet<string> = new Set([
  'service_unavailable',
  'rate_limited',
  'bad_gateway',
  'server_error',
])

/** Wraps tools so that a call without a clear answer is retried under the same idempotency key. */
export function persistent({ call, newKey, ask }: Tools): Tools {
  return {
    newKey,
    ask,
    call: async (operation, input, extra) => {
      const key = keyFor(operation, newKey)
      for (let tries = 1; ; tries++) {
        const outcome = await call(operation, input, { ...key, ...extra })
        if (isPlain(outcome) || tries === maxTries) return outcome
      }
    },
  }
}

function isPlain(outcome: Outcome<unknown>): boolean {
  return outcome.kind === 'answered' || (outcome.kind === 'refused' && !transientCodes.has(outcome.code))
}

/** Wraps tools so that every call has a new idempotency key, even if the calls are equal. */
export function withNewKeys({ call, newKey, ask }: Tools): Tools {
  return {
    newKey,
    ask,
    call: (operation, input, extra) => call(operation, input, { ...keyFor(operation, newKey), ...extra }),
  }
}

function keyFor(operation: OperationKey, newKey: () => string): Record<string, string> {
  return catalogue[operation].idempotency === 'required' ? { idempotencyKey: newKey() } : {}
}
