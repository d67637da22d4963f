import { createRequestStateCodec, type ServerContext } from '@modelcontextprotocol/server'
import { newSecret, type System } from '../../core/system.ts'
import type { RequestStates } from '../dependencies.ts'

/** How long a sealed state is valid, which is longer than any wait for a person (the SDK's default is 10 minutes). */
const lifetimeSeconds = 900

interface RequestStatesOptions {
  /**
   * Returns secrets of 32 characters or more, newest first. Every process that may get the answer needs the same
   * secrets. Without this function, the process generates a secret.
   */
  secrets?: () => Promise<readonly string[]>
  /** The id of the connection's key or grant: an answer counts only from the principal that was asked. */
  principal?: string
  system: Pick<System, 'randomBytes'>
}

/**
 * Seals states with HMAC-SHA-256, bound to the principal and the method, so that a state is valid for no other
 * principal or method.
 */
export function createRequestStates({ secrets, principal = '', system }: RequestStatesOptions): RequestStates {
  // Codecs are created when first needed, because most connections never ask.
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
          // An older key may still open the state; a state that no key opens is refused.
          refusal = error
        }
      }
      throw refusal
    },
  }
}
