import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'

/** An AI host's login for one connection, in memory. `asked` is the address to which the host sent the person. */
export interface HostAccount {
  provider: OAuthClientProvider & never
  asked: string | undefined
  forgetRefreshToken(): void
}

/** Nothing listens at this address: the test reads the code from the browser's request. */
const redirectUrl = 'http://127.0.0.1:1/callback'

export function createHostAccount(name: string): HostAccount {
  const kept: Record<string, unknown> = {}
  const account = {
    asked: undefined as string | undefined,
    forgetRefreshToken: () => {
      const { refresh_token: _, ...tokens } = kept.tokens as Record<string, unknown>
      kept.tokens = tokens
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
      clientInformation: () => kept.client,
      saveClientInformation: (client: unknown) => {
        kept.client = client
      },
      tokens: () => kept.tokens,
      saveTokens: (tokens: unknown) => {
        kept.tokens = tokens
      },
      redirectToAuthorization: (url: URL) => {
        account.asked = url.href
      },
      saveCodeVerifier: (verifier: string) => {
        kept.verifier = verifier
      },
      codeVerifier: () => String(kept.verifier),
      state: () => `state-${Math.random()}`,
      saveDiscoveryState: (state: unknown) => {
        kept.discovery = state
      },
      discoveryState: () => kept.discovery,
    },
  }
  return account as unknown as HostAccount
}
