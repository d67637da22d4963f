import { createRequestStateCodec, type ServerContext } from '@modelcontextprotocol/server'
import { newSecret, type System } from '../system.ts'
import type { RequestStates } from './serving.ts'

/** Longer than a person is waited for (the SDK gives them 10 minutes). */
const lifetimeSeconds = 900

interface RequestStatesOptions {
  secret: string | undefined
  principal: string | undefined
  system: Pick<System, 'randomBytes'>
}

/** Sealed with HMAC-SHA-256 and bound to the principal and the method, so that no answer counts for another question. */
export function createRequestStates({ secret, principal = '', system }: RequestStatesOptions): RequestStates {
  let made: RequestStates | undefined
  // Made by the first question: most connections ask nobody anything.
  const codec = () => {
    made ??= createRequestStateCodec<unknown>({
      key: secret ?? newSecret(system),
      ttlSeconds: lifetimeSeconds,
      bind: (context: ServerContext) => `${context.mcpReq.method} ${principal}`,
    })
    return made
  }
  return {
    mint: (state, context) => codec().mint(state, context),
    verify: (text, context) => codec().verify(text, context),
  }
}
