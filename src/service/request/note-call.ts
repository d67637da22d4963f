import { catalogue } from '../../../tools/index.ts'
import { maskSecrets } from '../../core/errors.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { secretFields } from '../../core/secret-fields.ts'
import type { RunDetail, RunOutcome } from '../rules/runs.ts'
import { isSuccess, type Reply } from './reply.ts'
import type { RequestContext } from './request-context.ts'
import type { Note } from './run-log.ts'

/** More than a person reads of one answer. */
const longestAnswer = 16_384

/** What a run keeps of a request: undefined where nobody is known to have sent it. */
export function noteOfCall(
  request: RequestContext,
  reply: Reply | undefined,
  { ms, atMs }: { ms: number; atMs: number },
): Note | undefined {
  const { operation, incoming, actor, handled, plan, supportId, postings } = request
  if (actor === undefined) return undefined
  const body = 'body' in incoming ? incoming.body : ''
  const answer = reply === undefined ? undefined : parsed(reply.body)
  const query = incoming.query.size === 0 ? '' : `?${incoming.query}`
  const customer = handled?.context.partyId
  const detail: RunDetail = {
    method: incoming.method,
    path: maskSecrets(`${incoming.path}${query}`),
    keyId: actor.keyId,
    actorType: actor.actorType,
    hasKey: incoming.headers.has('idempotency-key'),
    ...(customer === undefined || customer === actor.partyId ? {} : { customerPartyId: customer }),
    ...(body === '' ? {} : { body: masked(parsed(body)) }),
    ...(answer === undefined ? {} : cut(masked(answer))),
    ...(reply !== undefined && isSuccess(reply) ? postingsOf(postings?.() ?? []) : {}),
  }
  return {
    partyId: actor.partyId,
    kind: 'call',
    operation: operation.name,
    agentId: actor.agentId,
    outcome: outcomeOf(reply, answer),
    status: reply?.status ?? null,
    code: codeIn(answer),
    amountCents: amountIn(answer) ?? amountIn(parsed(body)),
    fault: plan.fault?.kind ?? null,
    ms: Math.round(ms),
    supportId,
    detail: JSON.stringify(detail),
    atMs,
    instanceId: handled?.context.instanceId ?? (incoming.headers.get('x-instance-id') || null),
    host: null,
  }
}

function outcomeOf(reply: Reply | undefined, answer: unknown): RunOutcome {
  if (reply === undefined) return 'unanswered'
  if (reply.status >= 500) return 'failed'
  if (reply.status >= 400) return 'refused'
  if (reply.headers['X-Idempotency-Replayed'] === 'true') return 'replayed'
  const status = attributesIn(answer)?.status
  return status === 'declined' ? 'declined' : status === 'IN_REVIEW' ? 'review' : 'done'
}

function postingsOf(posted: ReturnType<NonNullable<RequestContext['postings']>>): Pick<RunDetail, 'postings'> {
  if (posted.length === 0) return {}
  return { postings: posted.map(({ posting, sourceId }) => ({ ...posting, sourceId })) }
}

/** A text of an answer, as far as a person reads it. */
export function cut(text: string): Pick<RunDetail, 'answer' | 'cut'> {
  if (text.length <= longestAnswer) return { answer: text }
  return { answer: text.slice(0, longestAnswer), cut: text.length - longestAnswer }
}

function attributesIn(value: unknown): Record<string, unknown> | undefined {
  const { data } = (value ?? {}) as { data?: { attributes?: Record<string, unknown> } | null }
  return data?.attributes ?? undefined
}

function amountIn(value: unknown): number | null {
  const { amount, maximumAmount } = attributesIn(value) ?? {}
  const cents = amount ?? maximumAmount
  return typeof cents === 'number' && Number.isSafeInteger(cents) ? cents : null
}

function codeIn(answer: unknown): string | null {
  const { errors } = (answer ?? {}) as { errors?: { code: string }[] }
  return errors?.[0]?.code ?? null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The attributes that are secrets in some answer, wherever they stand. */
const secretNames = new Set(Object.values<OperationDefinition>(catalogue).flatMap(secretFields))

/** A value as JSON without its secrets: those of the fields that are marked so, and what reads like one anywhere. */
export function masked(value: unknown): string {
  if (value === undefined) return ''
  const text = JSON.stringify(value, (name, part: unknown) =>
    secretNames.has(name) && typeof part === 'string' ? '[masked]' : part,
  )
  return maskSecrets(text)
}
