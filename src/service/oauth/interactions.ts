import type { IncomingMessage, ServerResponse } from 'node:http'
import type Provider from 'oidc-provider'
import { type OAuthScope, oauthScopes } from '../../core/permissions.ts'
import type { UserRow } from '../store/schema/users.ts'
import type { AllowedGrant, ConsentRequest } from './consent.ts'

/**
 * The authorization requests that wait for a person's decision. Each one is identified by a cookie in the browser in
 * which it began.
 */
export interface Interactions {
  /**
   * Returns the authorization request that the browser's cookie identifies; undefined if there is none or it has ended.
   */
  request(request: Request): Promise<ConsentRequest | undefined>
  /** Saves the user's grant, and sends the browser back to the application. */
  allow(request: Request, user: UserRow, consentRequest: ConsentRequest, allowed: AllowedGrant): Promise<Response>
  /** Sends the browser back to the application with the error `access_denied`. */
  deny(request: Request): Promise<Response>
}

type Use = (provider: Provider, req: IncomingMessage, res: ServerResponse) => Promise<void>

export function createInteractions(providers: () => Promise<Provider>, publicUrl: () => string): Interactions {
  const withInteraction = async (request: Request, use: Use) => {
    const [provider, { callNodeHandler }] = await Promise.all([providers(), import('./node-handler.ts')])
    return callNodeHandler({ publicUrl: publicUrl(), request, body: '' }, (req, res) => use(provider, req, res))
  }
  return {
    request: async (request) => {
      let found: ConsentRequest | undefined
      // This handler only reads the consent request, so its response is discarded.
      await withInteraction(request, async (provider, req, res) => {
        found = await requestOf(provider, req, res)
        res.end()
      })
      return found
    },
    allow: (request, user, consentRequest, allowed) =>
      withInteraction(request, async (provider, req, res) => {
        const grantId = await saveGrant(provider, { req, res, publicUrl: publicUrl() }, user, consentRequest, allowed)
        const interaction = await provider.interactionDetails(req, res)
        // The authorization server may still have a session of a user who was signed in earlier in this browser. The
        // request is therefore detached from that session.
        delete interaction.session
        await interaction.persist()
        const login = { accountId: user.id, remember: false }
        const result = { login, consent: { grantId } }
        await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false })
      }),
    deny: (request) =>
      withInteraction(request, async (provider, req, res) => {
        const result = { error: 'access_denied', error_description: 'The person denied access.' }
        await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false })
      }),
  }
}

async function requestOf(
  provider: Provider,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<ConsentRequest | undefined> {
  try {
    const { uid, params } = await provider.interactionDetails(req, res)
    const client = await provider.Client.find(String(params.client_id))
    if (client === undefined) return undefined
    const scopes = String(params.scope ?? '').split(' ')
    return {
      uid,
      client: {
        id: client.clientId,
        name: client.clientName ?? hostOf(client.clientId) ?? 'An application without a name',
        uri: client.clientUri ?? null,
        redirectUri: typeof params.redirect_uri === 'string' ? params.redirect_uri : null,
      },
      scopes: (Object.keys(oauthScopes) as OAuthScope[]).filter((scope) => scopes.includes(scope)),
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'SessionNotFound') return undefined
    throw error
  }
}

/** Saves the allowed scopes for each requested resource. All other requested scopes are recorded as refused. */
async function saveGrant(
  provider: Provider,
  { req, res, publicUrl }: { req: IncomingMessage; res: ServerResponse; publicUrl: string },
  user: UserRow,
  { client, scopes: requested }: ConsentRequest,
  { id, scopes }: AllowedGrant,
): Promise<string> {
  const { params } = await provider.interactionDetails(req, res)
  const grant = (await provider.Grant.find(id)) ?? new provider.Grant({ accountId: user.id, clientId: client.id })
  grant.jti = id
  // The new decision replaces the refusals of earlier decisions.
  delete grant.rejected
  grant.addOIDCScope('openid offline_access')
  const resources = [params.resource ?? publicUrl].flat().map(String)
  const refusedScopes = requested.filter((scope) => !scopes.includes(scope))
  for (const resource of resources) {
    if (scopes.length > 0) grant.addResourceScope(resource, scopes.join(' '))
    if (refusedScopes.length > 0) grant.rejectResourceScope(resource, refusedScopes.join(' '))
  }
  return grant.save()
}

function hostOf(clientId: string): string | undefined {
  return URL.parse(clientId)?.host
}
