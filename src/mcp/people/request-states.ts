import { createRequestStateCodec, type ServerContext } from '@modelcontextprotocol/server'
import { newSecret, type System } from '../../core/system.ts'
import type { RequestStates } from '../dependencies.ts'

/** Longer than a person is waited for (the SDK gives them 10 minutes). */
const lifetimeSeconds = 900

interface RequestStatesOptions {
  /**
   * 32 characters or more, the same in every process that may get the answer; the newest first. Without it, one that
   * this process makes up.
   */
  secrets?: () => Promise<readonly string[]>
  /** The key or grant that the connection belongs to: what one was asked, no other can answer. */
  principal?: string
  system: Pick<System, 'randomBytes'>
}

/** Sealed with HMAC-SHA-256 and bound to the principal and the method, so that no answer counts for another question. */
export function createRequestStates({ secrets, principal = '', system }: RequestStatesOptions): RequestStates {
  // Made by the first question: most connections ask nobody anything.
  const codecs = new Map<string, RequestStates>()
  let own: string | undefined
  const known = async () => {
    if (secrets !== undefined) return secrets()
    own ??= newSecret(system)
    return [own]
  }
  const codecOf = (key: string) => {
    const made =
      codecs.get(key) ??
      createRequestStateCodec<unknown>({
        key,
        ttlSeconds: lifetimeSeconds,
        bind: (context: ServerContext) => `${context.mcpReq.method} ${principal}`,
      })
    codecs.set(key, made)
    return made
  }
  return {
    mint: async (state, context) => {
      const [newest = ''] = await known()
      return codecOf(newest).mint(state, context)
    },
    verify: async (text, context) => {
      let refusal: unknown
      for (const key of await known()) {
        try {
          return await codecOf(key).verify(text, context)
        } catch (error) {
          // A state that an older key sealed opens with that one; a state that none opens is refused.
          refusal = error
        }
      }
      throw refusal
    },
  }
}
