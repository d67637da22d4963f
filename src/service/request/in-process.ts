import { catalogue, type OperationKey } from '../../../tools/index.ts'
import { plainHeaders } from '../../core/plain-headers.ts'
import { newId } from '../../core/system.ts'
import type { UserRow } from '../store/schema/users.ts'
import type { Actor } from './permission-checks.ts'
import { answer, type Dependencies } from './pipeline.ts'
import type { Reply } from './reply.ts'
import { withBody } from './request-parsing.ts'

/** The input of an operation. */
interface OperationInput {
  params: Record<string, string>
  query?: Record<string, string>
  attributes?: object
  /** The relationships in the body (docs/service.md#bodies). */
  relationships?: object
}

/**
 * Carries out an operation for the signed-in user of a page. The request goes through the pipeline like any other,
 * except that authentication is skipped.
 */
export function asUser(
  dependencies: Dependencies,
  user: Pick<UserRow, 'id' | 'partyId'>,
  key: OperationKey,
  sent: OperationInput,
): Promise<Reply> {
  const { system } = dependencies
  // Each submission of a form is a new request, so it gets a new key.
  return asActor(dependencies, actorOf(user), key, { ...sent, idempotencyKey: newId('idk', system, system.now()) })
}

/**
 * Reads records for a page, with the permissions of the page's user. The rate limit does not count these reads: the
 * limit is meant for programs, and a page that keeps refreshing would use it up.
 */
export function readAsUser(
  dependencies: Dependencies,
  user: Pick<UserRow, 'id' | 'partyId'>,
  key: OperationKey,
  { params, query = {} }: Omit<OperationInput, 'attributes'>,
): Promise<Reply> {
  const { method, path } = requestOf(key, params)
  if (method !== 'GET') throw new Error(`Bug: ${key} is not a read.`)
  const head = { method, path, params, query: new URLSearchParams(query), headers: plainHeaders({}), isCounted: true }
  return answer(dependencies, key, withBody(head, ''), { pageActor: actorOf(user) })
}

interface SentByActor extends OperationInput {
  idempotencyKey: string
  /** The id of the run that the operation belongs to. */
  instanceId?: string
}

/**
 * Carries out an operation for an actor that a page identifies without a sign-in, such as by a token in the page's URL.
 */
export function asActor(
  dependencies: Dependencies,
  actor: Actor,
  key: OperationKey,
  { params, query: parameters = {}, attributes, relationships, idempotencyKey, instanceId }: SentByActor,
): Promise<Reply> {
  const { method, path } = requestOf(key, params)
  const body = attributes === undefined ? '' : JSON.stringify({ data: { attributes, relationships } })
  const headers = plainHeaders({
    'Content-Type': 'application/json',
    'Idempotency-Key': idempotencyKey,
    ...(instanceId === undefined ? {} : { 'X-Instance-ID': instanceId }),
  })
  const query = new URLSearchParams(parameters)
  const incoming = withBody({ method, path, params, query, headers }, body)
  return answer(dependencies, key, incoming, { pageActor: actor })
}

function requestOf(key: OperationKey, params: Record<string, string>) {
  const { method, path } = catalogue[key]
  return { method, path: path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '') }
}

/**
 * Returns the actor for a user, with the permissions that the user's own token would have. `keyId` is the user's id,
 * because there is no credential.
 */
function actorOf({ id, partyId }: Pick<UserRow, 'id' | 'partyId'>): Actor {
  const credentialKind = 'oauth_access_token'
  return { actorType: 'user', partyId, agentId: null, userId: id, credentialKind, keyId: id, scopes: [], grant: null }
}
