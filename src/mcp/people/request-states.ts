import { createRequestStateCodec, type ServerContext } from '@modelcontextprotocol/server'
import { newSecret, type System } from '../../core/system.ts'
import type { RequestStates } from '../dependencies.ts'

/** How long a question's sealed state is valid: longer than the 10 minutes that a person has to decide on a page. */
const lifetimeSeconds = 900

interface RequestStatesOptions {
  /**
   * Returns secrets of at least 32 characters, newest first. Every process that may receive the person's answer needs
   * the same secrets. Without this function, the process uses a secret that it generates.
   */
  secrets?: () => Promise<readonly string[]>
  /** The id of the connection's key or grant. An answer counts only if it comes from the principal that was asked. */
  principal?: string
  system: Pick<System, 'randomBytes'>
}

/**
 * Creates the functions that seal the states of questions with HMAC-SHA-256 and verify them. A state is valid only for
 * the principal and the MCP method for which it was sealed.
 */
export function createRequestStates({ secrets, principal = '', system }: RequestStatesOptions): RequestStates {
  // Codecs are created when they are first needed, because most connections never ask a person.
  const codecs = new Map<string, RequestStates>()
  let ownKey: string | undefined
  const sealingKeys = async () => {
    if (secrets !== undefined) return secrets()
    ownKey ??= newSecret(system)
    return [ownKey]
  }
  const codecOf = (key: string) => {
    const codec =
      codecs.get(key) ??
      createRequestStateCodec<unknown>({
        key,
        ttlSeconds: lifetimeSeconds,
        bind: (context: ServerContext) => `${context.mcpReq.method} ${principal}`,
      })
    codecs.set(key, codec)
    return codec
  }
  return {
    mint: async (state, context) => {
      const [newest = ''] = await sealingKeys()
      return codecOf(newest).mint(state, context)
    },
    verify: async (sealed, context) => {
      let refusal: unknown
      for (const key of await sealingKeys()) {
        try {
          return await codecOf(key).verify(sealed, context)
        } catch (error) {
          // An older key may still verify the state. If no key does, the state is refused.
          refusal = error
        }
      }
      throw refusal
    },
  }
}
