import { tokenRevocation } from 'openid-client'
import { Failure } from '../core/errors.ts'
import { openAuthorizationServer, reachServer } from './authorization-server.ts'
import type { SignInOptions } from './sign-in.ts'
import type { Login } from './token-store.ts'

/**
 * The outcome of a sign-out. `none`: nobody was signed in. `revoked`: the server revoked the login. `forgotten`: the
 * login was only deleted on this machine; `reason` says why the server did not revoke it.
 */
type SignOut = { kind: 'none' } | { kind: 'revoked' } | { kind: 'forgotten'; reason: string }

/**
 * Deletes the stored login, then revokes it at the server (RFC 7009). The login stays deleted even if the revocation
 * fails.
 */
export async function signOut({ baseUrl, store, fetch }: Omit<SignInOptions, 'system'>): Promise<SignOut> {
  // Locks the stored logins. Otherwise, another process could renew the tokens meanwhile, and the new tokens would not
  // be revoked.
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
