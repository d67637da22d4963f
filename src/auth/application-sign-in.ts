import { importPKCS8 } from 'jose'
import {
  type ClientAuth,
  type Configuration,
  clientCredentialsGrant,
  genericGrantRequest,
  PrivateKeyJwt,
  type TokenEndpointResponse,
} from 'openid-client'
import { Failure } from '../core/errors.ts'
import { openAuthorizationServer, secretBasic } from './authorization-server.ts'
import { type Company, readSecretFile, requestAssertion } from './company-sign-in.ts'
import { type Fetch, readResourceMetadata } from './resource-metadata.ts'
import { type SignInOptions, storeLogin } from './sign-in.ts'

/** The credentials of an application that signs in without a browser. */
export interface ApplicationProof {
  clientId: string
  /** The path of a file with the application's secret, or with its private key (PEM, PKCS #8). */
  proofFile: string
  /** The company whose identity provider vouches for a person; undefined if the application signs in for itself. */
  company?: Company | undefined
}

/**
 * Signs in as an application (RFC 6749 section 4.4), or on behalf of a person in a company (RFC 7523). Stores the
 * login, and the path of the file with the application's secret or key.
 */
export async function signInAsApplication(options: SignInOptions, proof: ApplicationProof): Promise<void> {
  const { resource, issuer } = await readResourceMetadata(options.baseUrl, options.fetch)
  const { config, tokens } = await requestToken({ issuer, resource, ...proof }, options.fetch)
  await storeLogin(options, { config, issuer, resource, scope: tokens.scope ?? '' }, tokens, proof)
}

/** The grant type for requesting a token with a JWT assertion (RFC 7523 section 2.1). */
const jwtBearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/**
 * Requests an access token. No refresh token is needed, because the application authenticates again for each new access
 * token.
 */
export async function requestToken(
  { issuer, resource, clientId, proofFile, company }: ApplicationProof & { issuer: string; resource: string },
  fetch: Fetch,
): Promise<{ config: Configuration; tokens: TokenEndpointResponse }> {
  const config = await openAuthorizationServer(issuer, clientId, fetch, await readClientAuth(proofFile))
  if (company === undefined) return { config, tokens: await clientCredentialsGrant(config, { resource }) }
  const assertion = await requestAssertion(company, { audience: issuer, resource }, fetch)
  return { config, tokens: await genericGrantRequest(config, jwtBearerGrant, { assertion, resource }) }
}

async function readClientAuth(proofFile: string): Promise<ClientAuth> {
  const text = await readSecretFile(proofFile)
  if (!text.includes('-----BEGIN')) return secretBasic(text)
  for (const algorithm of algorithms) {
    const key = await importPKCS8(text, algorithm).catch(() => undefined)
    if (key !== undefined) return PrivateKeyJwt(key)
  }
  throw new Failure('unauthenticated', {
    detail: `${proofFile} has no usable private key: use an EC key (P-256), an Ed25519 key or an RSA key, in PEM (PKCS #8).`,
  })
}

/** One signing algorithm for each supported kind of key. A key can be imported only with the algorithm for its kind. */
const algorithms = ['ES256', 'Ed25519', 'PS256']
