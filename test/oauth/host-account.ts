import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'

/** An AI host's OAuth client for one connection. It stores its tokens in memory. */
export interface HostAccount {
  provider: OAuthClientProvider & never
  /** The URL to which the host last sent the person. */
  authorizationUrl: string | undefined
  forgetRefreshToken(): void
}

/** Nothing listens at this URL. The test reads the code from the browser's request. */
const redirectUrl = 'http://127.0.0.1:1/callback'

export function createHostAccount(name: string): HostAccount {
  const stored: Record<string, unknown> = {}
  const account = {
    authorizationUrl: undefined as string | undefined,
    forgetRefreshToken: () => {
      const { refresh_token: _, ...tokens } = stored.tokens as Record<string, unknown>
      stored.tokens = tokens
    },
    provider: {
      redirectUrl,
      clientMetadata: {
        client_name: name,
        redirect_uris: [redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
      clientInformation: () => stored.client,
      saveClientInformation: (client: unknown) => {
        stored.client = client
      },
      tokens: () => stored.tokens,
      saveTokens: (tokens: unknown) => {
        stored.tokens = tokens
      },
      redirectToAuthorization: (url: URL) => {
        account.authorizationUrl = url.href
      },
      saveCodeVerifier: (verifier: string) => {
        stored.verifier = verifier
      },
      codeVerifier: () => String(stored.verifier),
      state: () => `state-${Math.random()}`,
      saveDiscoveryState: (state: unknown) => {
        stored.discovery = state
      },
      discoveryState: () => stored.discovery,
    },
  }
  return account as unknown as HostAccount
}
