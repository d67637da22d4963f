import type { Failure } from '../../core/errors.ts'
import { challenge } from '../tokens/challenge.ts'
import type { Reply } from './reply.ts'

/** Adds a `WWW-Authenticate` challenge to a refusal if the request could succeed with a different token. */
export function withChallenge(
  reply: Reply,
  { status, scopes }: Failure,
  publicUrl: string,
  hasCredential: boolean,
): Reply {
  if (status !== 401 && scopes === undefined) return reply
  const error = scopes !== undefined ? 'insufficient_scope' : hasCredential ? 'invalid_token' : undefined
  return { ...reply, headers: { ...reply.headers, 'WWW-Authenticate': challenge(publicUrl, error, scopes) } }
}
