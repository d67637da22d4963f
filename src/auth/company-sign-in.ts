import { readFile } from 'node:fs/promises'
import { Failure } from '../core/errors.ts'
import { maskSecrets } from '../core/masking.ts'
import { findTokenEndpoint } from './authorization-server.ts'
import type { Fetch } from './resource-metadata.ts'

/** A company's identity provider, and the credentials that this machine and a person have for it. */
export interface Company {
  /** The issuer of the identity provider. */
  idp: string
  /** The id of this machine's client at the identity provider. */
  idpClientId: string
  /** The path of the file with the client's secret; undefined if the client has no secret. */
  idpProofFile?: string | undefined
  /** The path of the file with the person's ID token. The company's own software must keep this token current. */
  idTokenFile: string
}

/**
 * Exchanges the person's ID token for an assertion (RFC 8693). The assertion is valid only at the authorization server
 * `audience`, to request tokens for the API `resource`.
 */
export async function requestAssertion(
  { idp, idpClientId, idpProofFile, idTokenFile }: Company,
  target: { audience: string; resource: string },
  fetch: Fetch,
): Promise<string> {
  const { requestJwtAuthorizationGrant } = await import('@modelcontextprotocol/client')
  const [idToken, clientSecret] = await Promise.all([
    readSecretFile(idTokenFile),
    idpProofFile && readSecretFile(idpProofFile),
  ])
  try {
    const tokenEndpoint = await findTokenEndpoint(idp, idpClientId, fetch)
    const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
      ...{ ...target, tokenEndpoint, idToken, clientId: idpClientId },
      ...(clientSecret && { clientSecret }),
      fetchFn: (url, init) => fetch(new Request(url, init)),
    })
    return jwtAuthGrant
  } catch (error) {
    const reason = error instanceof Error ? maskSecrets(error.message.slice(0, 200)) : 'the reason is unknown'
    throw new Failure('unauthenticated', {
      detail: `${idp} issued no assertion: ${reason}. Sign in there again, so that ${idTokenFile} has a current ID token.`,
    })
  }
}

/** Reads a secret or token from a file. @throws Failure if the file cannot be read */
export async function readSecretFile(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Failure('unauthenticated', { detail: `${file} could not be read (${cause.code}). Check its path.` })
  })
  return text.trim()
}
