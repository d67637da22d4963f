import Provider, { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { Logger } from '../../config/log.ts'
import type { Config } from '../../config/settings.ts'
import { foreignName } from '../../core/foreign-text.ts'
import type { Environment } from '../../core/operation.ts'
import type { System } from '../../core/system.ts'
import type { Store } from '../store/engine/store.ts'
import { rootKeys } from '../store/root-keys.ts'
import { findUser } from '../store/users.ts'
import { lifetimes } from '../tokens/lifetimes.ts'
import { audienceOf, audiences, scopesSupported } from '../tokens/resources.ts'
import { type SigningKey, signingAlgorithm } from '../tokens/signing-keys.ts'
import { createAdapter } from './adapter.ts'
import {
  assertionAlgorithms,
  clientAuthMethods,
  clientMetadataCheck,
  clockTolerance,
  compareHashedSecrets,
  createRefusalLog,
  grantClaim,
  scopesOfApplication,
} from './applications.ts'
import { registerAssertionGrant } from './assertions.ts'
import { createDocumentFetch, unreachableIn } from './client-documents.ts'
import type { ClientLimits } from './clients.ts'
import { routes } from './endpoint-paths.ts'
import { resourceServer } from './resource-server.ts'

/**
 * The pages that the authorization server itself shows: the pages of the device flow and the error pages. Each function
 * returns a complete HTML document.
 */
export interface DevicePages {
  /** Asks for the code that the device shows. @param hint The code from the URL; undefined if there is none. */
  enterCode(form: { action: string; token: string }, error: string | undefined, hint: string | undefined): string
  confirmCode(form: { action: string; token: string }, client: { name: string }, code: string): string
  done(client: { name: string }): string
  failed(error: { code: string; description: string }): string
  /** Explains that the application's metadata document at this address could not be read. */
  unreachable(document: { address: string; reason: string }): string
  headers: Readonly<Record<string, string>>
}

export interface ProviderDependencies {
  store: Store
  system: System
  environment: Environment
  publicUrl: () => string
  clientLimits: ClientLimits
  devicePages: DevicePages
  /** Fetches clients' metadata documents, and the keys of trusted identity providers. */
  fetch: typeof globalThis.fetch
  clientMetadata: Config['clientMetadata']
  log: Logger
}

export async function createProvider(
  dependencies: ProviderDependencies,
  keys: readonly SigningKey[],
): Promise<Provider> {
  const publicUrl = dependencies.publicUrl()
  // The first key signs new cookies. Cookies signed with an older key remain valid.
  const cookieKeys = (await dependencies.store.read(rootKeys)).signatures('oauth cookies')
  const provider = new Provider(publicUrl, configuration({ ...dependencies, publicUrl }, keys, cookieKeys))
  const recordRefusal = createRefusalLog(dependencies)
  compareHashedSecrets(provider)
  registerAssertionGrant(provider, { ...dependencies, publicUrl })
  provider.use(async (ctx, next) => {
    await next()
    await recordRefusal(ctx as unknown as KoaContextWithOIDC)
    // Every 429 response needs this header, whether it is a page or JSON.
    if (ctx.status === 429) ctx.set('Retry-After', '60')
  })
  provider.on('server_error', (_ctx, error) =>
    dependencies.log.error({ err: error }, 'the authorization server failed'),
  )
  return provider
}

/** The provider's dependencies, with the public URL as a string instead of a function. */
type ConfigurationDependencies = Omit<ProviderDependencies, 'publicUrl'> & { publicUrl: string }

function configuration(
  dependencies: ConfigurationDependencies,
  keys: readonly SigningKey[],
  cookieKeys: string[],
): Configuration {
  const { store, system, publicUrl, clientLimits, devicePages, fetch, log } = dependencies
  return {
    adapter: createAdapter({ store, system, log }, clientLimits),
    jwks: { keys: [...keys] },
    routes,
    fetch: createDocumentFetch({ store, system, clientLimits, fetch, log }),
    scopes: ['openid', 'offline_access'],
    claims: { openid: ['sub'] },
    responseTypes: ['code'],
    clientAuthMethods: [...clientAuthMethods],
    clockTolerance,
    extraClientMetadata: clientMetadataCheck,
    clientDefaults: {
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      id_token_signed_response_alg: signingAlgorithm,
    },
    enabledJWA: {
      idTokenSigningAlgValues: [signingAlgorithm],
      clientAuthSigningAlgValues: [...assertionAlgorithms],
    },
    pkce: { required: () => true },
    cookies: { keys: cookieKeys, long: cookieRules, short: cookieRules },
    ttl: {
      AccessToken: lifetimes.accessToken,
      ClientCredentials: lifetimes.accessToken,
      AuthorizationCode: lifetimes.authorizationCode,
      DeviceCode: lifetimes.deviceCode,
      Grant: lifetimes.grant,
      IdToken: lifetimes.accessToken,
      Interaction: lifetimes.interaction,
      RefreshToken: lifetimes.refreshToken,
      Session: lifetimes.session,
    },
    discovery: { service_documentation: `${publicUrl}/openapi.json` },
    // If nobody is signed in, the consent page redirects to the sign-in page.
    interactions: { url: (_ctx, { uid }) => `/oauth/consent/${uid}` },
    // A person decides on every connection. Therefore only the grant from the decision just made is loaded, never an
    // earlier grant.
    loadExistingGrant: (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId)
    },
    findAccount: async (_ctx, userId) => {
      const user = await store.read((tx) => findUser(tx, userId))
      return user && { accountId: user.id, claims: async () => ({ sub: user.id }) }
    },
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    // Connections must outlast the browser session, which ends within an hour.
    expiresWithSession: async () => false,
    rotateRefreshToken: true,
    extraTokenClaims: (_ctx, token) => grantClaim(store, token),
    // A user has the same `sub` claim for every client, so sector identifiers are never fetched.
    sectorIdentifierUriValidate: () => false,
    // The endpoints that scripts call use no cookies, so pages of every site may call these endpoints.
    clientBasedCORS: () => true,
    renderError: (ctx, { error, error_description = '' }, failure) => {
      const unreachable = unreachableIn(failure)
      ctx.set(devicePages.headers)
      ctx.body =
        unreachable === undefined
          ? devicePages.failed({ code: error, description: error_description })
          : devicePages.unreachable({ address: unreachable.address, reason: unreachable.message })
    },
    features: features(dependencies),
  }
}

function features({ store, publicUrl, clientLimits, clientMetadata, devicePages }: ConfigurationDependencies) {
  const [api] = audiences(publicUrl)
  return {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    dPoP: { enabled: false },
    clientCredentials: { enabled: true },
    pushedAuthorizationRequests: { enabled: false },
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    introspection: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    registration: { enabled: true, idFactory: () => clientLimits.newId(), issueRegistrationAccessToken: false },
    clientIdMetadataDocument: {
      enabled: clientMetadata !== 'off',
      ack: 'draft-02',
    },
    deviceFlow: { enabled: true, ...deviceFlow(devicePages) },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx, _client, oneOf) => (oneOf === undefined ? api : (oneOf[0] ?? api)),
      useGrantedResource: () => true,
      getResourceServerInfo: async (ctx, resource) => {
        const audience = audienceOf(publicUrl, resource)
        if (audience === undefined)
          throw new errors.InvalidTarget(`resource must be ${audiences(publicUrl).join(' or ')}`)
        const scope = await scopesOfApplication(store, ctx)
        return resourceServer(audience, scope ?? scopesSupported.join(' '))
      },
    },
  } satisfies Configuration['features']
}

const cookieRules = { httpOnly: true, sameSite: 'lax' } as const

function deviceFlow(pages: DevicePages): object {
  const form = (ctx: KoaContextWithOIDC) => ({
    action: routes.code_verification,
    token: (ctx.oidc.session as unknown as { state: { secret: string } }).state.secret,
  })
  const show = (ctx: KoaContextWithOIDC, document: string) => {
    ctx.set(pages.headers)
    ctx.body = document
  }
  const nameOf = (ctx: KoaContextWithOIDC) => ({
    name: foreignName(ctx.oidc.client?.clientName ?? '', ctx.oidc.client?.clientId ?? ''),
  })
  return {
    charset: 'base-20',
    mask: '****-****',
    userCodeInputSource: async (
      ctx: KoaContextWithOIDC,
      _form: string,
      out?: object,
      error?: Error & { userCode?: string },
    ) => {
      const hasFailed = error !== undefined || out !== undefined
      if (hasFailed) await keepSession(ctx)
      const hint = ctx.query.code_hint
      const problem = hasFailed ? (error?.name ?? 'error') : undefined
      show(ctx, pages.enterCode(form(ctx), problem, typeof hint === 'string' ? hint : undefined))
    },
    userCodeConfirmSource: (ctx: KoaContextWithOIDC, _form: string, _client: unknown, _info: unknown, code: string) => {
      show(ctx, pages.confirmCode(form(ctx), nameOf(ctx), code))
    },
    successSource: (ctx: KoaContextWithOIDC) => {
      show(ctx, pages.done(nameOf(ctx)))
    },
  }
}

/**
 * Saves the browser's session if it is not saved yet. Without a saved session, the form on the error page could not be
 * submitted.
 */
async function keepSession({ oidc }: KoaContextWithOIDC): Promise<void> {
  const { session, cookies } = oidc
  if (session === undefined || session.exp !== undefined) return
  await session.save(lifetimes.session)
  cookies.set('_session', session.jti, cookieRules)
}
