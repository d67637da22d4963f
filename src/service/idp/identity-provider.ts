import { exportJWK, generateKeyPair } from 'jose'
import Provider, { type Adapter, type AdapterPayload, type Configuration } from 'oidc-provider'
import type { Logger } from '../../config/log.ts'
import { keepNewest } from '../../core/bounded-map.ts'
import { isLoopback } from '../../core/loopback.ts'
import { newSecret, sha256 } from '../../core/system.ts'
import { compareHashedSecrets } from '../oauth/applications.ts'
import { callNodeHandler } from '../oauth/node-handler.ts'
import type { Store } from '../store/engine/store.ts'
import { findRecord } from '../store/oauth-records.ts'
import { findIssuer } from '../store/trusted-issuers.ts'
import { findUser } from '../store/users.ts'
import { tokenExchangeGrant } from '../tokens/resources.ts'
import { type ExchangeDependencies, registerExchange } from './exchange.ts'
import { failedPage, signInPage, signInPath } from './sign-in.ts'

interface ProviderDependencies extends ExchangeDependencies {
  log: Logger
}

/** The maximum number of sign-in records in memory. If there are more, the oldest are deleted. */
const maxRecords = 1_000

/**
 * The names of the provider's cookies. They differ from the names of the service's cookies, because a browser sends the
 * cookies of a host to all ports of that host.
 */
const cookieNames = { session: '_idp_session', interaction: '_idp_interaction', resume: '_idp_resume' }

const scopes = 'openid email profile'

/** Lifetimes in seconds. An ID token lasts as long as a session. */
const ttl = { Session: 3600, IdToken: 3600, Grant: 3600, AccessToken: 300, AuthorizationCode: 60, Interaction: 600 }

/**
 * Creates a small identity provider for the sandbox, and returns its fetch function. The sandbox's users sign in to
 * this provider. Its clients are the applications of the parties that trust it. The applications use the same ids and
 * secrets as in the service. The provider's keys and sessions exist only in this process.
 */
export async function createIdentityProvider(
  dependencies: ProviderDependencies,
): Promise<(request: Request) => Promise<Response>> {
  const { store, system, issuer, log } = dependencies
  const pair = { ...(await generateKeyPair('ES256', { extractable: true })), kid: newSecret(system, 8) }
  const key = { ...(await exportJWK(pair.privateKey)), kid: pair.kid, alg: 'ES256', use: 'sig' }
  const provider = new Provider(issuer, {
    adapter: adapters(dependencies),
    jwks: { keys: [key] },
    routes: { authorization: '/authorize', token: '/token', jwks: '/jwks' },
    scopes: scopes.split(' '),
    claims: { openid: ['sub'], email: ['email'], profile: ['name'] },
    // There is no userinfo endpoint, so the ID token must contain the claims.
    conformIdTokenClaims: false,
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    pkce: { required: () => true },
    ttl,
    cookies: { keys: [newSecret(system)], names: cookieNames },
    interactions: { url: (_ctx, { uid }) => signInPath + uid },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    findAccount: async (_ctx, id) => {
      const user = await store.read((tx) => findUser(tx, id))
      if (user?.status !== 'ACTIVE') return undefined
      return { accountId: id, claims: async () => ({ sub: id, email: user.email, name: user.name }) }
    },
    // The clients belong to the company of the people who sign in, so nobody is asked for consent.
    loadExistingGrant: async ({ oidc }) => {
      const owner = { clientId: String(oidc.client?.clientId), accountId: String(oidc.session?.accountId) }
      const grant = new oidc.provider.Grant(owner)
      grant.addOIDCScope(scopes)
      await grant.save()
      return grant
    },
    renderError: (ctx, { error, error_description: reason = '' }) => {
      const { page, headers } = failedPage(error, reason)
      ctx.set(headers)
      ctx.body = page
    },
  } satisfies Configuration)
  compareHashedSecrets(provider)
  allowLoopback(provider)
  registerExchange(provider, dependencies, pair)
  provider.on('server_error', (_ctx, error) => log.error({ err: error }, 'the identity provider failed'))
  const showSignIn = signInPage(provider, store)
  return async (request) => {
    const bridged = { publicUrl: issuer, request, body: await request.text() }
    const isSignIn = new URL(request.url).pathname.startsWith(signInPath)
    return callNodeHandler(bridged, isSignIn ? showSignIn : provider.callback())
  }
}

/**
 * Makes the provider accept any redirect URI on this machine, because applications run on this machine while they are
 * being developed.
 */
function allowLoopback(provider: Provider): void {
  const { prototype } = provider.Client as unknown as { prototype: { redirectUriAllowed(uri: string): boolean } }
  prototype.redirectUriAllowed = (uri) => /^https?:\/\//.test(uri) && isLoopback(uri)
}

/** Returns the provider's storage. Clients are read from the service's database. Everything else is in memory. */
function adapters({ store, issuer }: ProviderDependencies): (model: string) => Adapter {
  const records = new Map<string, AdapterPayload>()
  return (model) => {
    const keyOf = (id: string) => `${model} ${id}`
    const find = async (id: string) => records.get(keyOf(id))
    return {
      find: model === 'Client' ? (id) => findClient(store, issuer, id) : find,
      upsert: async (id, payload) => {
        keepNewest(records, keyOf(id), payload, maxRecords)
      },
      consume: async (id) => {
        const found = await find(id)
        if (found !== undefined) found.consumed = true
      },
      destroy: async (id) => {
        records.delete(keyOf(id))
      },
      revokeByGrantId: async (grantId) => {
        for (const [key, payload] of records) if (payload.grantId === grantId) records.delete(key)
      },
      findByUid: async (uid) => [...records.values()].find((payload) => payload.kind === model && payload.uid === uid),
      findByUserCode: async () => undefined,
    }
  }
}

/** Returns the client with the given id; undefined if its party does not trust this provider. */
async function findClient(store: Store, issuer: string, clientId: string): Promise<AdapterPayload | undefined> {
  return store.read(async (tx) => {
    if ((await findIssuer(tx, { clientId }))?.issuer !== issuer) return undefined
    // If the party no longer trusts this provider, no record is found, because the client's record was deleted.
    const record = await findRecord(tx, { model: 'Client', idHash: sha256(clientId) })
    return record && { ...JSON.parse(record.payload), ...fixedMetadata }
  })
}

/**
 * The metadata that all clients have in common. oidc-provider requires `redirect_uris`, but it has no effect, because
 * `allowLoopback` ignores it.
 */
const fixedMetadata = {
  application_type: 'native',
  grant_types: ['authorization_code', tokenExchangeGrant],
  redirect_uris: ['http://127.0.0.1/'],
  response_types: ['code'],
}
