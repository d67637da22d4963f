import { readFile } from 'node:fs/promises'
import { importPKCS8 } from 'jose'
import {
  type ClientAuth,
  ClientSecretBasic,
  clientCredentialsGrant,
  PrivateKeyJwt,
  type TokenEndpointResponse,
} from 'openid-client'
import { Failure } from '../core/errors.ts'
import { openAuthorizationServer } from './authorization-server.ts'
import { type Fetch, readResourceMetadata } from './resource-metadata.ts'
import { keepLogin, type SignInOptions } from './sign-in.ts'

/** An application that a party registered to sign in by itself, without a person. */
export interface ApplicationProof {
  clientId: string
  /** A file with the secret, or with a private key in PEM (PKCS #8). */
  proofFile: string
}

/** Signs in as an application (RFC 6749 section 4.4), and stores the login with the path of its secret or key. */
export async function signInAsApplication(options: SignInOptions, proof: ApplicationProof): Promise<void> {
  const { resource, issuer } = await readResourceMetadata(options.baseUrl, options.fetch)
  const { config, tokens } = await requestToken({ issuer, resource, ...proof }, options.fetch)
  await keepLogin(options, { config, issuer, resource, scope: tokens.scope ?? '' }, tokens, proof.proofFile)
}

/** Requests an access token. There is no refresh token: the application proves again that it is the one. */
export async function requestToken(
  { issuer, resource, clientId, proofFile }: ApplicationProof & { issuer: string; resource: string },
  fetch: Fetch,
) {
  const config = await openAuthorizationServer(issuer, clientId, fetch, await authenticationBy(proofFile))
  const tokens: TokenEndpointResponse = await clientCredentialsGrant(config, { resource })
  return { config, tokens }
}

async function authenticationBy(proofFile: string): Promise<ClientAuth> {
  const text = await readFile(proofFile, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Failure('unauthenticated', { detail: `${proofFile} could not be read (${cause.code}). Check its path.` })
  })
  if (!text.includes('-----BEGIN')) return ClientSecretBasic(text.trim())
  for (const algorithm of algorithms) {
    const key = await importPKCS8(text, algorithm).catch(() => undefined)
    if (key !== undefined) return PrivateKeyJwt(key)
  }
  throw new Failure('unauthenticated', {
    detail: `${proofFile} holds no key that can sign: it accepts an EC key of P-256, an Ed25519 key or an RSA key, in PEM as PKCS #8.`,
  })
}

/** One for each kind of key. A key of another kind cannot be imported for it. */
const algorithms = ['ES256', 'Ed25519', 'PS256']
