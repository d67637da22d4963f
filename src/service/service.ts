import type { Logger } from '../log.ts'
import type { Environment } from '../operation.ts'
import { newSecret, type System, sha256 } from '../system.ts'
import { createApp } from './app.ts'
import { createLastUses } from './last-use.ts'
import { createRateLimiter } from './rate-limit.ts'
import { credentialPrefix } from './secrets.ts'
import { type SeededCredentials, type SeedSecrets, seed, seededAgentKeyId } from './seed.ts'
import type { Store } from './store/store.ts'

export interface ServiceOptions {
  store: Store
  system: System
  environment: Environment
  /** Requests per minute per credential. */
  rateLimit: number
  log: Logger
  /** The address that people reach the service's pages at, without a slash at its end. */
  publicUrl?: () => string
}

/** The payments service on a store: a complete deployment of the API behind one fetch function. */
export interface Service {
  fetch(request: Request): Promise<Response>
  /** Makes the seeded world in an empty store; sets the secrets of its keys that are given or were never made. */
  seed(secrets: SeedSecrets): Promise<SeededCredentials>
  /** A credential of the seeded agent's that lives in this process's memory only. Seeds an empty store. */
  localAgentKey(): Promise<string>
}

/** Where `serve` listens unless it is told otherwise. */
const defaultUrl = () => 'http://127.0.0.1:4010'

export function createService({
  store,
  system,
  environment,
  rateLimit,
  log,
  publicUrl = defaultUrl,
}: ServiceOptions): Service {
  const localCredentials = new Map<string, string>()
  const app = createApp({
    store,
    publicUrl,
    system,
    environment,
    log,
    localCredentials,
    lastUses: createLastUses(),
    rateLimit: createRateLimiter(rateLimit, system),
  })
  return {
    fetch: async (request) => app.fetch(request),
    seed: (secrets) => seed(store, system, environment, secrets),
    localAgentKey: async () => {
      const keyId = await seededAgentKeyId(store, system)
      const credential = `${credentialPrefix('agent_key', environment)}${newSecret(system)}`
      localCredentials.set(sha256(credential), keyId)
      return credential
    },
  }
}
