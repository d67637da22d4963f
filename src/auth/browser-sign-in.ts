import { authorizationCodeGrant, buildAuthorizationUrl, calculatePKCECodeChallenge } from 'openid-client'
import { newSecret } from '../core/system.ts'
import { reachServer } from './authorization-server.ts'
import { openCallback } from './callback.ts'
import { prepareSignIn, requireEndpoint, type SignInOptions, storeLogin } from './sign-in.ts'

/**
 * Signs in through a browser on this machine, with an authorization code and PKCE (RFC 8252). Calls `show` with the
 * address to open in the browser. After the sign-in, the server redirects the browser to a loopback port on which this
 * program listens. Resolves once the login is stored. Throws a `Failure` if the sign-in fails.
 */
export async function signInWithBrowser(options: SignInOptions, show: (address: URL) => void): Promise<void> {
  const { system } = options
  const signIn = await prepareSignIn(options)
  requireEndpoint(signIn, 'authorization_endpoint')
  const { config, issuer, scope, resource } = signIn
  const state = newSecret(system)
  const codeVerifier = newSecret(system)
  const callback = await openCallback(state, system)
  try {
    show(
      buildAuthorizationUrl(config, {
        redirect_uri: callback.address,
        scope,
        resource,
        state,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        // OpenID Connect Core section 11: without this prompt, the server ignores `offline_access`.
        prompt: 'consent',
      }),
    )
    await callback.receiveAnswer(async (answer) => {
      const checks = { pkceCodeVerifier: codeVerifier, expectedState: state }
      const tokens = await reachServer(issuer, () => authorizationCodeGrant(config, answer, checks, { resource }))
      await storeLogin(options, signIn, tokens)
    })
  } finally {
    await callback.close()
  }
}
