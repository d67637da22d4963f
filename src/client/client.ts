import { type Catalogue, catalogue, type OperationKey } from '../../tools/index.ts'
import type { ApiTransport } from '../core/api-transport.ts'
import { Failure, fail, show } from '../core/errors.ts'
import type { Fault } from '../core/faults.ts'
import type { OperationDefinition, Pagination, Resource, SentInput } from '../core/operation.ts'
import { newSecret, type System } from '../core/system.ts'
import { type HostProgram, userAgentOf } from '../core/user-agent.ts'
import { refusal } from './api-error.ts'
import { prepare } from './input.ts'
import { type AttemptProgress, withRetries } from './retry.ts'
import { overFetch, send } from './send.ts'

export interface ClientOptions {
  /** The sandbox's `app.fetch`, or the function of `remote.ts`. */
  fetch: (request: Request) => Response | Promise<Response>
  /** Carries the requests instead of `fetch` if the API is in this process, so that no `Request` has to be built. */
  carry?: ApiTransport | undefined
  /** Address of the API; may carry a path prefix. */
  baseUrl: string
  /** The key or access token. Requested before each attempt, so that it may be refreshed in between. */
  credential: () => Promise<string> | string
  /** X-Instance-ID, sent with every request: 1 to 1024 printable ASCII characters. */
  instanceId: string
  /** The program that sends the requests, such as `payments-mcp/1.2.3`; if undefined, they name none. */
  program?: string | undefined
  system: System
  log?: Log | undefined
  /** The time limit of one attempt, in milliseconds. */
  attemptTimeoutMs?: number
}

/** The log of the client and the MCP server; pino is one. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface CallOptions {
  /** The key of an earlier call to repeat; without it each call gets its own. 1 to 255 printable ASCII characters. */
  idempotencyKey?: string | undefined
  /** Whether nothing was sent under that key before. */
  isNewKey?: boolean
  /** Whether an equal call was sent before under this key. */
  isRepeat?: boolean
  /** The program on whose behalf the call is made. */
  host?: HostProgram | undefined
  /** The fault to inject if the API is in this process; it has no effect over a network. */
  fault?: Fault | undefined
  signal?: AbortSignal | undefined
  /** Called at the start of each attempt, and before each wait for the next. */
  onAttempt?: ((progress: AttemptProgress) => void) | undefined
}

export interface CallResult<D extends OperationDefinition> {
  data: D['result'] extends 'page' | 'several' ? Resource<D>[] : Resource<D>
  meta: ({ pagination?: Pagination } & Record<string, unknown>) | undefined
  /** Whether the answer is the recorded response of an earlier request with the same key. */
  replayed: boolean
  /** The key that was sent; undefined if the operation takes none. */
  idempotencyKey: string | undefined
  /** The number of attempts. */
  attempts: number
}

export interface Client {
  /**
   * Runs one logical operation: validates, sends, retries with one idempotency key. Throws `Failure` for a call that
   * was never sent, `ApiError` for one that the service refused or never answered, and the signal's reason when
   * aborted.
   */
  call<D extends OperationDefinition>(operation: D, input: SentInput<D>, options?: CallOptions): Promise<CallResult<D>>
  /** Iterates over the pages of a list, each a result of `call`; at most 1000. */
  pages<D extends OperationDefinition>(
    operation: D,
    input: SentInput<D>,
    options?: CallOptions,
  ): AsyncGenerator<CallResult<D>>
  /** `call` for each operation of the catalogue, by its key. */
  operations: Operations
}

export type Operations = {
  [K in OperationKey]: (input: SentInput<Catalogue[K]>, options?: CallOptions) => Promise<CallResult<Catalogue[K]>>
}

/** Printable ASCII without a space at either end: a text that a header carries unchanged. */
const headerText = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** Creates a client of the payments API over any fetch function. */
export function createClient(options: ClientOptions): Client {
  const { system, instanceId, attemptTimeoutMs = 60_000 } = options
  if (!headerText.test(instanceId) || instanceId.length > 1024) {
    const detail = `The instance id must be 1 to 1024 printable ASCII characters; got ${show(instanceId)}.`
    fail('invalid_value', { detail, source: { header: 'X-Instance-ID' } })
  }
  const { origin, pathname, host } = new URL(options.baseUrl)
  const carry = options.carry ?? overFetch(options.fetch, origin + pathname.replace(/\/+$/, ''))

  const call: Client['call'] = async (operation, input, callOptions = {}) => {
    const { path, params, body } = prepare(operation, input)
    const beganAtMs = system.elapsed()
    const idempotencyKey = operation.idempotency === 'required' ? keyFor(callOptions, system) : undefined
    let credential = ''
    const attempt = async (timeoutMs: number) => {
      const given = await credentialOf(options)
      if (given instanceof Failure) return { kind: 'unsent', failure: given } as const
      credential = given
      const headers: Record<string, string> = { Authorization: `Bearer ${credential}`, 'X-Instance-ID': instanceId }
      if (options.program !== undefined) headers['User-Agent'] = userAgentOf(options.program, callOptions.host)
      if (idempotencyKey !== undefined) headers['Idempotency-Key'] = idempotencyKey
      if (callOptions.isRepeat === true) headers['X-MCP-Repeat'] = 'true'
      if (body !== undefined) headers['Content-Type'] = 'application/json'
      const now = lessWaiting(operation, input, system.elapsed() - beganAtMs)?.path ?? path
      const { name, method } = operation
      const request = { operation: name, method, path: now, params, headers, body, fault: callOptions.fault }
      return await send((signal) => carry(request, signal), { timeoutMs, signal: callOptions.signal })
    }
    const { answer, attempts, unanswered } = await withRetries(attempt, {
      repeatable: operation.effect === 'read' || idempotencyKey !== undefined,
      attemptTimeoutMs,
      system,
      signal: callOptions.signal,
      onAttempt: (progress) => {
        if (progress.waitMs > 0) options.log?.warn({ operation: operation.name, ...progress }, 'repeating a request')
        callOptions.onAttempt?.(progress)
      },
    })
    if (answer.kind !== 'answer' || answer.status < 200 || answer.status > 299 || !hasData(answer.json)) {
      throw refusal(answer, {
        operation,
        idempotencyKey,
        attempts,
        // The outcome of an earlier call under the given key is unknown.
        unanswered: unanswered || (callOptions.idempotencyKey !== undefined && callOptions.isNewKey !== true),
        host,
        credential,
        nowMs: system.now(),
      })
    }
    const { data, meta } = answer.json
    return { data, meta, replayed: answer.replayed, idempotencyKey, attempts } as CallResult<typeof operation>
  }

  let operations: Operations | undefined
  return {
    call,
    pages: (operation, input, callOptions) => pages(call, operation, input, callOptions),
    // Created on first use: an MCP connection calls by the operation, and there may be thousands of connections.
    get operations() {
      operations ??= operationsOver(call)
      return operations
    },
  }
}

/** Shortens the wait in a retried request to the time that is left: a host does not wait longer than the whole. */
function lessWaiting(operation: OperationDefinition, input: object, pastMs: number) {
  const { waitSeconds } = input as { waitSeconds?: unknown }
  if (waitSeconds === undefined || pastMs === 0) return undefined
  return prepare(operation, { ...input, waitSeconds: Math.max(0, Math.floor(Number(waitSeconds) - pastMs / 1000)) })
}

/** Returns the credential, or the reason why there is none to send. */
async function credentialOf({ credential }: ClientOptions): Promise<string | Failure> {
  try {
    const text = await credential()
    if (headerText.test(text)) return text
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  return new Failure('unauthenticated', { detail: 'The credential holds characters that no key or token has.' })
}

/** An endless list is a fault of the service: 1000 pages are 100,000 records at the largest limit. */
const maximumPages = 1000

/**
 * Iterates over the pages of a list, up to the one without a next cursor. A cursor that was already followed ends the
 * list too, because a service that repeats the cursor of the last page would never end it.
 */
async function* pages<D extends OperationDefinition>(
  call: Client['call'],
  operation: D,
  input: SentInput<D>,
  options?: CallOptions,
): AsyncGenerator<CallResult<D>> {
  const followed = new Set<string>()
  let page = input
  for (let number = 1; number <= maximumPages; number++) {
    const result = await call(operation, page, options)
    yield result
    const cursor = result.meta?.pagination?.nextCursor
    if (typeof cursor !== 'string' || cursor === '' || followed.has(cursor)) return
    followed.add(cursor)
    page = { ...input, cursor }
  }
}

function operationsOver(call: Client['call']): Operations {
  const operations: Record<string, unknown> = {}
  for (const [key, operation] of Object.entries(catalogue)) {
    operations[key] = (input: object, callOptions?: CallOptions) =>
      call<OperationDefinition>(operation, input, callOptions)
  }
  return operations as Operations
}

function keyFor(options: CallOptions, system: System): string {
  const key = options.idempotencyKey
  if (key === undefined) return `idk_${newSecret(system, 16)}`
  if (headerText.test(key) && key.length <= 255) return key
  const detail = 'The idempotency key must be 1 to 255 printable ASCII characters.'
  return fail('invalid_value', { detail, source: { header: 'Idempotency-Key' } })
}

function hasData(json: unknown): json is { data: unknown; meta?: unknown } {
  return typeof json === 'object' && json !== null && 'data' in json
}
