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
import { type Company, requestAssertion, secretIn } from './company-sign-in.ts'
import { type Fetch, readResourceMetadata } from './resource-metadata.ts'
import { keepLogin, type SignInOptions } from './sign-in.ts'

/** An application that a party registered to sign in by itself, without a person. */
export interface ApplicationProof {
  clientId: string
  /** A file with the secret, or with a private key in PEM (PKCS #8). */
  proofFile: string
  /** The identity provider that vouches for the person; undefined if the application signs in by itself. */
  company?: Company | undefined
}

/**
 * Signs in as an application (RFC 6749 section 4.4), or as an application for a company's person (RFC 7523). Stores the
 * login with the path of its secret or key.
 */
export async function signInAsApplication(options: SignInOptions, proof: ApplicationProof): Promise<void> {
  const { resource, issuer } = await readResourceMetadata(options.baseUrl, options.fetch)
  const { config, tokens } = await requestToken({ issuer, resource, ...proof }, options.fetch)
  await keepLogin(options, { config, issuer, resource, scope: tokens.scope ?? '' }, tokens, proof)
}

/** RFC 7523 section 2.1. */
const jwtBearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Requests an access token. There is no refresh token: the application authenticates again each time it needs a token. */
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
  const text = await secretIn(proofFile)
  if (!text.includes('-----BEGIN')) return secretBasic(text)
  for (const algorithm of algorithms) {
    const key = await importPKCS8(text, algorithm).catch(() => undefined)
    if (key !== undefined) return PrivateKeyJwt(key)
  }
  throw new Failure('unauthenticated', {
    detail: `${proofFile} holds no key that can sign: use an EC key of P-256, an Ed25519 key or an RSA key, in PEM as PKCS #8.`,
  })
}

/** One algorithm for each kind of key. The right one is the first that can import the key. */
const algorithms = ['ES256', 'Ed25519', 'PS256']
