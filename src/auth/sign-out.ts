import { tokenRevocation } from 'openid-client'
import { Failure } from '../core/errors.ts'
import { openAuthorizationServer, reaching } from './authorization-server.ts'
import type { SignInOptions } from './sign-in.ts'
import type { Login } from './token-store.ts'

/** The outcome of a sign-out: nobody was signed in; it ended everywhere; or only here, with the reason. */
type SignOut = { kind: 'none' } | { kind: 'revoked' } | { kind: 'forgotten'; reason: string }

/** Revokes the login at the server (RFC 7009), and deletes it here even if the server does not answer. */
export async function signOut({ baseUrl, store, fetch }: Omit<SignInOptions, 'system'>): Promise<SignOut> {
  // No process may renew the tokens in between, because then the stored tokens would not be the revoked ones.
  return await store.exclusively(async (stored, write) => {
    const { [baseUrl]: login, ...others } = stored.logins
    if (login === undefined) return { kind: 'none' }
    await write({ clients: stored.clients, logins: others })
    return await revoke(login, fetch)
  })
}

async function revoke(login: Login, fetch: SignInOptions['fetch']): Promise<SignOut> {
  const { issuer, clientId, accessToken, refreshToken } = login
  try {
    const config = await openAuthorizationServer(issuer, clientId, fetch)
    if (config.serverMetadata().revocation_endpoint === undefined) {
      return { kind: 'forgotten', reason: `${new URL(issuer).host} cannot revoke tokens.` }
    }
    await reaching(issuer, () => tokenRevocation(config, refreshToken ?? accessToken))
    return { kind: 'revoked' }
  } catch (error) {
    if (error instanceof Failure) return { kind: 'forgotten', reason: error.message }
    throw error
  }
}
