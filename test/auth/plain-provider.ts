import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider, { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider'
import { memoryAdapters } from './memory-adapter.ts'

export interface PlainProviderOptions {
  /** The lifetime of an access token, in seconds. */
  accessTokenSeconds?: number
  /** Enables client id metadata documents. The provider loads them with `fetch`. */
  clientIdMetadataDocuments?: { fetch: typeof fetch }
  clients?: Configuration['clients']
  /** Further resources that clients may request tokens for. The RFC 9728 metadata does not list these resources. */
  otherResources?: readonly string[]
  /** Values that replace fields of the RFC 9728 metadata. */
  resourceMetadata?: Record<string, unknown>
  /** Values that replace fields of the RFC 8414 metadata; `undefined` removes a field. */
  serverMetadata?: Record<string, unknown>
  /**
   * The polling interval that the provider sends to devices, in seconds. If undefined, devices poll every 5 seconds.
   */
  deviceIntervalSeconds?: number
  /** Gets each request before the provider does. Returns true if it has answered the request. */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** An `oidc-provider` with nearly default settings. A person answers its prompts with POST requests. */
export interface PlainProvider {
  issuer: string
  resource: string
  provider: Provider
  /** All token requests in order, each with its grant type, and with the error if the request was refused. */
  tokenRequests: { grantType: string; error: string | undefined }[]
  /** Deletes a registered client. */
  forgetClient(clientId: string): Promise<void>
  /** Returns the number of requests to a path so far. */
  requestCount(path: string): number
  close(): Promise<void>
}

export const plainScopes = ['cards:read', 'cards:agent']

/** Starts a provider on a free port of 127.0.0.1. */
export async function startPlainProvider(options: PlainProviderOptions = {}): Promise<PlainProvider> {
  const paths: string[] = []
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => {}
  const server = createServer((request, response) => {
    paths.push(pathOf(request))
    if (options.intercept?.(request, response) !== true) handle(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const adapter = memoryAdapters()
  const provider = new Provider(issuer, { ...(await configuration(issuer, options)), adapter })
  const { deviceIntervalSeconds } = options
  if (deviceIntervalSeconds !== undefined) {
    provider.use(async (context, next) => {
      await next()
      if (context.path === '/device/auth') Object.assign(context.body as object, { interval: deviceIntervalSeconds })
    })
  }
  const tokenRequests = watchTokenRequests(provider)
  const oidc = provider.callback()
  handle = async (request, response) => {
    const path = pathOf(request)
    if (path === '/.well-known/oauth-protected-resource') return json(response, resourceMetadata(issuer, options))
    if (path === '/.well-known/oauth-authorization-server' && options.serverMetadata !== undefined) {
      const found = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()
      return json(response, { ...(found as object), ...options.serverMetadata })
    }
    if (path.startsWith('/interaction/')) return await interact(provider, request, response)
    return await oidc(request, response)
  }
  return {
    issuer,
    resource: issuer,
    provider,
    tokenRequests,
    forgetClient: async (clientId) => void (await adapter('Client').destroy(clientId)),
    requestCount: (path) => paths.filter((requestedPath) => requestedPath === path).length,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function resourceMetadata(issuer: string, { resourceMetadata: replaced }: PlainProviderOptions) {
  return { resource: issuer, authorization_servers: [issuer], scopes_supported: plainScopes, ...replaced }
}

async function configuration(issuer: string, options: PlainProviderOptions): Promise<Configuration> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const resources = [issuer, ...(options.otherResources ?? [])]
  const documents = options.clientIdMetadataDocuments
  return {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'test' }] },
    cookies: { keys: ['a key of the test'] },
    clients: options.clients ?? [],
    responseTypes: ['code'],
    pkce: { required: () => true },
    scopes: ['openid', 'offline_access'],
    rotateRefreshToken: true,
    ...(documents === undefined ? {} : { fetch: documents.fetch }),
    ttl: {
      AccessToken: options.accessTokenSeconds ?? 900,
      DeviceCode: 600,
      Grant: 86_400,
      IdToken: 3_600,
      Interaction: 3_600,
      RefreshToken: 86_400,
      Session: 86_400,
    },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      introspection: { enabled: true },
      deviceFlow: {
        enabled: true,
        userCodeInputSource: (context: KoaContextWithOIDC, form: string) => {
          context.body = form
        },
        userCodeConfirmSource: (context: KoaContextWithOIDC, form: string) => {
          context.body = form
        },
        successSource: (context: KoaContextWithOIDC) => {
          context.body = 'The device is connected.'
        },
      },
      ...(documents === undefined ? {} : { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' } }),
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, resource: string) => {
          if (!resources.includes(resource)) throw new errors.InvalidTarget()
          return {
            scope: plainScopes.join(' '),
            audience: resource,
            accessTokenTTL: options.accessTokenSeconds ?? 900,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256' } },
          }
        },
      },
    },
  } as Configuration
}

/**
 * Handles the prompts that a person answers. GET /interaction/UID returns the prompt's name (`login` or `consent`).
 * POST …/login signs in, POST …/confirm consents to everything, and POST …/abort refuses.
 */
async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const details = await provider.interactionDetails(request, response)
  const { prompt, params, session, grantId } = details
  const step = pathOf(request).split('/')[3]
  if (request.method !== 'POST' || step === undefined) return json(response, { uid: details.uid, prompt: prompt.name })
  if (step === 'login') {
    return await provider.interactionFinished(request, response, { login: { accountId: 'person' } })
  }
  if (step === 'abort') {
    const result = { error: 'access_denied', error_description: 'The person said no' }
    return await provider.interactionFinished(request, response, result)
  }
  const existingGrant = grantId === undefined ? undefined : await provider.Grant.find(grantId)
  const grant =
    existingGrant ??
    new provider.Grant({ accountId: session?.accountId ?? 'person', clientId: String(params.client_id) })
  const scope = String(params.scope ?? '')
  grant.addOIDCScope(scope)
  if (typeof params.resource === 'string') grant.addResourceScope(params.resource, scope)
  const consent = { grantId: await grant.save() }
  await provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true })
}

function watchTokenRequests(provider: Provider): PlainProvider['tokenRequests'] {
  const requests: PlainProvider['tokenRequests'] = []
  const grantTypeOf = (context: KoaContextWithOIDC) => String(context.oidc.params?.grant_type)
  provider.on('grant.success', (context) => requests.push({ grantType: grantTypeOf(context), error: undefined }))
  provider.on('grant.error', (context, { error }) => requests.push({ grantType: grantTypeOf(context), error }))
  return requests
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').replace(/\?.*$/, '')
}

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
}
