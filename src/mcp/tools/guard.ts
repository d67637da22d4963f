import type { ServerContext } from '@modelcontextprotocol/server'
import type { Dependencies } from '../dependencies.ts'
import type { ToolCall } from '../people/decide.ts'
import { RepeatGuard } from './repeats.ts'

/** A sender of one call. If the call is a repeat of an earlier one, it is not carried out again. */
export type Guard = Pick<RepeatGuard, 'input' | 'wasDecided' | 'send'>

/** Returns the guard for a call. If repeats do no harm or PAYMENTS_REPEAT_WINDOW is 0, the guard blocks nothing. */
export function guardOf(dependencies: Dependencies, call: ToolCall, context: ServerContext): Guard {
  const { repeats } = dependencies
  if (call.operation.adds !== true || repeats.windowMs === 0) return unguarded(call)
  return new RepeatGuard(dependencies, repeats, call, context)
}

export const unguarded = ({ input }: Pick<ToolCall, 'input'>): Guard => ({
  input,
  wasDecided: async () => false,
  send: async (idempotencyKey, _decided, send) => {
    const result = await send({ idempotencyKey })
    // If no key was given, the client generated one, so a replay is the answer to an earlier attempt of this same call.
    return { ...result, replayed: result.replayed && idempotencyKey !== undefined }
  },
})
