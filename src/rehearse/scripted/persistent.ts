import { catalogue, type OperationKey } from '../../../tools/index.ts'
import type { Outcome, Tools } from './tools.ts'

/** More than any scenario loses in a row. */
const mostTries = 5

/** What says “not now”, and not what was done. */
const passing: ReadonlySet<string> = new Set(['service_unavailable', 'rate_limited', 'bad_gateway', 'server_error'])

/**
 * The same tools, by which a call that was not answered plainly is made again under the key that it was made with: so the
 * service tells what it did, or does it now, once.
 */
export function persistent({ call, newKey }: Tools): Tools {
  return {
    newKey,
    call: async (operation, input, extra) => {
      const key = keyFor(operation, newKey)
      for (let tries = 1; ; tries++) {
        const outcome = await call(operation, input, { ...key, ...extra })
        if (isPlain(outcome) || tries === mostTries) return outcome
      }
    },
  }
}

function isPlain(outcome: Outcome<unknown>): boolean {
  return outcome.kind === 'answered' || (outcome.kind === 'refused' && !passing.has(outcome.code))
}

/** The same tools, by which every call is another one than all before, also where they are equal. */
export function alwaysAnew({ call, newKey }: Tools): Tools {
  return {
    newKey,
    call: (operation, input, extra) => call(operation, input, { ...keyFor(operation, newKey), ...extra }),
  }
}

function keyFor(operation: OperationKey, newKey: () => string): Record<string, string> {
  return catalogue[operation].idempotency === 'required' ? { idempotencyKey: newKey() } : {}
}
