import { tokenRevocation } from 'openid-client'
import { Failure } from '../core/errors.ts'
import { openAuthorizationServer, reachServer } from './authorization-server.ts'
import type { SignInOptions } from './sign-in.ts'
import type { Login } from './token-store.ts'

/**
 * The outcome of a sign-out: nobody was signed in, the login was revoked at the server, or it was only deleted on this
 * machine, with the reason.
 */
type SignOut = { kind: 'none' } | { kind: 'revoked' } | { kind: 'forgotten'; reason: string }

/** Revokes the login at the server (RFC 7009), and deletes it here even if the server does not answer. */
export async function signOut({ baseUrl, store, fetch }: Omit<SignInOptions, 'system'>): Promise<SignOut> {
  // No other process may renew the tokens meanwhile: the renewed ones would not be revoked.
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
    await reachServer(issuer, () => tokenRevocation(config, refreshToken ?? accessToken))
    return { kind: 'revoked' }
  } catch (error) {
    if (error instanceof Failure) return { kind: 'forgotten', reason: error.message }
    throw error
  }
}
