import type { Logger } from '../../config/log.ts'
import { foreignName } from '../../core/foreign-text.ts'
import { parseJson } from '../../core/json.ts'
import { maskKeptText, maskSecrets } from '../../core/masking.ts'
import type { ReadableHeaders } from '../../core/plain-headers.ts'
import { secretFields } from '../../core/secret-fields.ts'
import { isSecretName } from '../../core/secret-names.ts'
import { type System, sha256 } from '../../core/system.ts'
import { type ReportedEntry, type RunDetail, type RunOutcome, spentCents } from '../rules/runs.ts'
import type { Posted } from '../store/engine/journal.ts'
import type { Store } from '../store/engine/store.ts'
import { resourceIds } from './activity.ts'
import { cutText, maskJson, maskText } from './body-masking.ts'
import type { Done, Known, Parsed, Phase } from './phases.ts'
import { isSuccess, type Reply, replyValue } from './reply.ts'
import { type Note, type RunLog, toolCallName } from './run-log.ts'

/** The MCP server sets this header on a request that it sends again because the model repeated a tool call. */
const repeatHeader = 'x-mcp-repeat'
/** The MCP server sets this header on a request that carries out a tool call. */
const toolHeader = 'x-mcp-tool-call'
/** The MCP server sets this header to the id of a tool call, on all requests that it makes for that call. */
const toolCallHeader = 'x-mcp-tool-call-id'

/**
 * Records a request as a call in the log of its run. A user's action on a page is recorded only if the request has an
 * instance id, which identifies the run.
 */
export function noteCall(
  { runLog, system, store, log }: { runLog: RunLog; system: System; store: Store; log: Pick<Logger, 'error'> },
  request: Phase,
  reply: Reply | undefined,
  ms: number,
): void {
  if (!('actor' in request)) return
  if (request.pageActor !== undefined && !request.incoming.headers.has('x-instance-id')) return
  // If the request was refused before its transaction read the time, the current time is close enough.
  const atMs = request.at?.nowMs ?? system.now() + store.clock.sandbox.offsetMs
  try {
    runLog.note(noteOfCall(request, reply, { ms, atMs }))
  } catch (error) {
    // The request's changes are already committed, so its answer is sent although the call could not be recorded.
    log.error({ supportId: request.supportId, err: error }, 'a call could not be recorded in its run')
  }
}

/**
 * Returns the additional entries that the handler reported, such as a decision in the run that requested the payment.
 * Each entry gets the request's postings for the entry's party and resources. But an entry in the request's own run
 * gets no postings, because the entry of the call already has them.
 */
export function entriesToReport(request: Phase): readonly ReportedEntry[] {
  if (!('posted' in request)) return []
  const { context, posted, actor } = request
  return context.afterCommit.reportedEntries.map((one) => {
    const isInOwnRun = one.partyId === actor.partyId && one.instanceId === context.instanceId
    const postings = isInOwnRun
      ? []
      : posted.filter(({ partyId, sourceId }) => partyId === one.partyId && one.resourceIds?.includes(sourceId ?? ''))
    return { ...one, postings: postings.map(storedPosting) }
  })
}

const storedPosting = ({ posting, sourceId }: Posted) => ({ ...posting, sourceId })

function noteOfCall(
  request: Known | Parsed | Done,
  reply: Reply | undefined,
  { ms, atMs }: { ms: number; atMs: number },
): Note {
  const { operation, incoming, actor, plan, supportId } = request
  const parsed = 'context' in request ? request : undefined
  const posted = 'posted' in request ? request.posted : []
  const answer = answerIn(request, reply)
  const outcome = outcomeOf(request, reply, answer)
  const customer = parsed?.context.partyId ?? actor.partyId
  const ids = parsed === undefined ? [] : resourceIds(operation, parsed.values, answer)
  const orderId = ids.find((id) => id.startsWith('sor_')) ?? attributesIn(answer)?.orderId
  const { headers } = incoming
  const key = headers.get('idempotency-key')
  const { fault, ruleId } = plan
  const detail: RunDetail = {
    method: incoming.method,
    path: pathOf(incoming),
    keyId: actor.keyId,
    actorType: actor.actorType,
    ...(customer === actor.partyId ? {} : { customerPartyId: customer }),
    ...bodyOf(request),
    ...answerOf(request, reply),
    hasKey: key !== null,
    ...(headers.get(toolHeader) === 'true' ? { isToolCall: true } : {}),
    ...(fault && ruleId !== undefined ? { fault: { ...fault, ruleId } } : {}),
    ...(posted.length === 0 ? {} : { postings: posted.map(storedPosting) }),
    ...(ids.length === 0 ? {} : { resourceIds: ids }),
    ...(typeof orderId === 'string' ? { orderId } : {}),
  }
  return {
    partyId: actor.partyId,
    kind: 'call',
    operation: operation.name,
    agentId: actor.agentId,
    outcome,
    status: reply?.status ?? null,
    code: codeIn(answer) ?? declineIn(request, answer),
    amountCents: amountIn(answer) ?? amountIn('json' in incoming ? incoming.json : undefined),
    counterparty: counterpartyIn(answer) ?? counterpartyIn('json' in incoming ? incoming.json : undefined),
    fault: plan.fault?.kind ?? null,
    ms: Math.round(ms),
    supportId: reply?.headers['X-Request-Id'] ?? supportId,
    keyHash: key === null ? null : sha256(JSON.stringify(['call', customer, key])).slice(0, 32),
    toolCall: toolCallOf(request, outcome),
    detail: JSON.stringify(detail),
    // Only the money of the actor's own party counts, not the money of its customer.
    spentCents: spentCents(posted.flatMap((one) => (one.partyId === actor.partyId ? one.posting : []))),
    atMs,
    epoch: request.at?.epoch,
    instanceId: parsed?.context.instanceId ?? instanceIdIn(headers),
    host: hostIn(headers),
  }
}

/**
 * Returns the name that groups a tool call and its reads into one row of the timeline; null if the request gets its own
 * row. Any client can send a tool call's id, so only successful reads without secrets may join the row of that tool
 * call.
 */
function toolCallOf({ operation, incoming: { headers }, actor, plan }: Known | Parsed | Done, outcome: RunOutcome) {
  const id = headers.get(toolCallHeader)
  if (id === null) return null
  if (headers.get(toolHeader) === 'true') return toolCallName('call', actor.keyId, id)
  const isPlainRead = operation.effect === 'read' && outcome === 'done' && plan.fault === undefined
  return isPlainRead && secretFields(operation).length === 0 ? toolCallName('read', actor.keyId, id) : null
}

function outcomeOf(request: Phase, reply: Reply | undefined, answer: unknown): RunOutcome {
  if (reply === undefined) return 'unanswered'
  if (reply.headers['X-Idempotency-Replayed'] === 'true')
    return request.incoming.headers.get(repeatHeader) === 'true' ? 'repeated' : 'replayed'
  if (reply.status >= 500) return 'failed'
  if (reply.status >= 400) return 'refused'
  if (declineIn(request, answer) !== null) return 'declined'
  return attributesIn(answer)?.status === 'IN_REVIEW' ? 'review' : 'done'
}

/**
 * Returns the decline code in the answer to a purchase; null if this request was not declined. A read is never a
 * decline, even if its answer shows an earlier one.
 */
function declineIn({ operation }: Phase, answer: unknown): string | null {
  const { status, decline } = attributesIn(answer) ?? {}
  if (operation.effect === 'read' || (status !== 'declined' && status !== 'open')) return null
  return (decline as { code: string } | null | undefined)?.code ?? null
}

/** The maximum length of an answer that is parsed, in characters: ten times the length that is stored. */
const longestParsed = 163_840

/**
 * Returns the parsed answer if the entry needs it. Lists are not parsed: they are long, and the request that reads a
 * list moves none of the amounts in it.
 */
function answerIn({ operation }: Phase, reply: Reply | undefined): unknown {
  if (reply === undefined || reply.body.length > longestParsed) return undefined
  return operation.result === 'page' && isSuccess(reply) ? undefined : replyValue(reply)
}

function bodyOf({ incoming }: Phase): Pick<RunDetail, 'body' | 'bodyCut' | 'remark'> {
  if (!('body' in incoming) || incoming.body === '') return {}
  const { body, json } = incoming
  // A body that cannot be parsed is not stored, because its secrets cannot be masked.
  if (json === undefined) return { bodyCut: body.length, remark: 'The body is not valid JSON and was not stored.' }
  const { text, cut } = maskJson(body, [], () => json)
  return { body: text, ...(cut === 0 ? {} : { bodyCut: cut }) }
}

function answerOf({ operation }: Phase, reply: Reply | undefined): Pick<RunDetail, 'answer' | 'cut'> {
  if (reply === undefined) return {}
  const { text, cut } =
    reply.mayContainSecret === false
      ? cutText(reply.body)
      : maskJson(reply.body, secretFields(operation), () => parseJson(reply.body))
  return { answer: text, ...(cut === 0 ? {} : { cut }) }
}

const longestPath = 2048

/** Returns the path and the query, with their secrets masked. */
function pathOf({ path, query }: Phase['incoming']): string {
  if (query.size === 0) return maskText(readablePath(path), longestPath).text
  const values = [...query].map(([name, value]): [string, string] => [
    maskText(name, longestPath).text,
    maskedParameter(name, value),
  ])
  return `${maskText(readablePath(path), longestPath).text}?${new URLSearchParams(values)}`.slice(0, 2 * longestPath)
}

/** Masks the value of a query parameter. A list's cursor looks like a secret, but is not one. */
function maskedParameter(name: string, value: string): string {
  if (isSecretName(name)) return '[masked]'
  return name === 'cursor' ? maskSecrets(value.slice(0, longestPath)) : maskText(value, longestPath).text
}

/** Returns the path, which is decoded if percent-encoding hides a secret in it. The secret can then be masked. */
function readablePath(path: string): string {
  if (!path.includes('%')) return path
  const plain = decoded(path)
  return maskKeptText(plain) === plain ? path : plain
}

const longestInstanceId = 1024

/**
 * Returns the instance id; null if there is none or it is too long. A request whose instance id is too long is refused
 * and has no run.
 */
function instanceIdIn(headers: ReadableHeaders): string | null {
  const instanceId = headers.get('x-instance-id') || null
  return instanceId !== null && instanceId.length <= longestInstanceId ? instanceId : null
}

/**
 * Returns the name that the client gives itself in the User-Agent header. The MCP server puts the name of its AI host
 * in parentheses. The name of any other client is the first product in the header.
 */
function hostIn(headers: ReadableHeaders): string | null {
  const userAgent = headers.get('user-agent')?.slice(0, longestPath)
  if (userAgent === undefined) return null
  const [, host] = /^payments-mcp(?:\/\S*)? \(([^()]+)/.exec(userAgent) ?? []
  const name = host === undefined ? userAgent.split(/[/\s]/)[0] : decoded(host).replace(/\/([^/]*)$/, ' $1')
  return foreignName(maskText(name ?? '', longestPath).text, '') || null
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function attributesIn(value: unknown): Record<string, unknown> | undefined {
  const { data } = (value ?? {}) as { data?: { attributes?: Record<string, unknown> } | null }
  return data?.attributes ?? undefined
}

function amountIn(value: unknown): number | null {
  const { amount, maximumAmount, total } = attributesIn(value) ?? {}
  const cents = amount ?? maximumAmount ?? total
  return typeof cents === 'number' && Number.isSafeInteger(cents) ? cents : null
}

const longestCounterparty = 200

/**
 * Returns the name of the merchant, payee or payer in an answer or request; if there is no name, the identifier, such
 * as an email address.
 */
function counterpartyIn(value: unknown): string | null {
  const { merchant, beneficiary, payerName, payerIdentifier, payer, counterparty } = attributesIn(value) ?? {}
  const names = [merchant, beneficiary].map((one) => (one as { name?: unknown } | null | undefined)?.name)
  const addresses = [payer, counterparty].map((one) => (one as { value?: unknown } | null | undefined)?.value)
  const found = [...names, payerName, payerIdentifier, ...addresses].find((one) => typeof one === 'string')
  return found === undefined ? null : maskText(String(found), longestCounterparty).text
}

function codeIn(answer: unknown): string | null {
  const { errors } = (answer ?? {}) as { errors?: { code: string }[] }
  return errors?.[0]?.code ?? null
}
