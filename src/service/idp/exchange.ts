import { type CryptoKey, jwtVerify, SignJWT } from 'jose'
import type Provider from 'oidc-provider'
import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import { show } from '../../core/errors.ts'
import { newSecret, type System } from '../../core/system.ts'
import type { Store } from '../store/engine/store.ts'
import { findUser } from '../store/users.ts'
import { audienceOf, audiences, tokenExchangeGrant } from '../tokens/resources.ts'

const tokenTypes = 'urn:ietf:params:oauth:token-type'
const idJag = `${tokenTypes}:id-jag`

/**
 * How long an assertion is valid, in seconds. A short time suffices, because clients present the assertion immediately.
 */
const lifetime = 5 * 60

const parameters = [
  'requested_token_type',
  'subject_token',
  'subject_token_type',
  'audience',
  'resource',
  'scope',
] as const

export interface ExchangeDependencies {
  store: Store
  system: System
  /** The URL of the service that accepts the assertions. */
  publicUrl: string
  /** The URL of this identity provider. */
  issuer: string
}

export interface KeyPair {
  kid: string
  publicKey: CryptoKey
  privateKey: CryptoKey
}

/**
 * Registers the grant type with which a client exchanges a person's ID token for an assertion (RFC 8693, ID-JAG). With
 * the assertion, the client signs in to the service.
 */
export function registerExchange(provider: Provider, dependencies: ExchangeDependencies, keys: KeyPair): void {
  const handle = async (ctx: KoaContextWithOIDC) => {
    const clientId = String(ctx.oidc.client?.clientId)
    const params = ctx.oidc.params as Readonly<Record<string, string | undefined>>
    const { scope } = params
    const target = targetOf(params, dependencies.publicUrl)
    const { sub, email } = await personOf(params.subject_token, clientId, dependencies, keys)
    const assertion = await new SignJWT({ ...target, client_id: clientId, email, ...(scope && { scope }) })
      .setProtectedHeader({ alg: 'ES256', typ: 'oauth-id-jag+jwt', kid: keys.kid })
      .setIssuer(dependencies.issuer)
      .setSubject(sub)
      .setJti(newSecret(dependencies.system))
      .setIssuedAt()
      .setExpirationTime(`${lifetime}s`)
      .sign(keys.privateKey)
    const answer = { access_token: assertion, issued_token_type: idJag, token_type: 'N_A', expires_in: lifetime }
    ctx.body = { ...answer, ...(scope && { scope }) }
  }
  provider.registerGrantType(tokenExchangeGrant, handle as never, [...parameters])
}

/**
 * Returns the audience and the resource of the requested assertion.
 * @throws InvalidRequest or InvalidTarget if this provider cannot issue the requested assertion
 */
function targetOf(params: Readonly<Record<string, string | undefined>>, publicUrl: string) {
  const expected = { requested_token_type: idJag, subject_token_type: `${tokenTypes}:id_token` }
  for (const [name, accepted] of Object.entries(expected)) {
    if (params[name] !== accepted) throw new errors.InvalidRequest(`${name} must be ${accepted}`)
  }
  const { audience, resource = '' } = params
  if (audience !== publicUrl) throw new errors.InvalidTarget(`audience must be ${publicUrl}, got ${show(audience)}`)
  if (audienceOf(publicUrl, resource) === undefined) {
    throw new errors.InvalidTarget(`resource must be ${audiences(publicUrl).join(' or ')}, got ${show(resource)}`)
  }
  return { aud: audience, resource }
}

/**
 * Returns the person whom an ID token identifies. The token must have been issued to the client that presents it.
 * @throws InvalidIdTokenError if the token is invalid or the person is no longer an active user
 */
async function personOf(
  idToken: string | undefined,
  clientId: string,
  { issuer, store }: ExchangeDependencies,
  { publicKey }: KeyPair,
): Promise<{ sub: string; email: string }> {
  const options = { issuer, audience: clientId, algorithms: ['ES256'], requiredClaims: ['exp', 'sub'] }
  const verified = await jwtVerify(idToken ?? '', publicKey, options).catch(() => undefined)
  const sub = verified?.payload.sub ?? ''
  const user = await store.read((tx) => findUser(tx, sub))
  if (user?.status === 'ACTIVE') return { sub, email: user.email }
  throw new InvalidIdTokenError()
}

/**
 * The error for an ID token that is invalid or expired, identifies no active user, or was issued by another provider or
 * to another client.
 */
class InvalidIdTokenError extends errors.OIDCProviderError {
  override readonly error_description = 'subject_token must be a valid ID token of this client. Sign in again.'
  constructor() {
    super(400, 'invalid_grant')
  }
}
