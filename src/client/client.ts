import { type Catalogue, catalogue, type OperationKey } from '../../tools/index.ts'
import type { ApiTransport } from '../core/api-transport.ts'
import { Failure, fail, show } from '../core/errors.ts'
import type { Fault } from '../core/faults.ts'
import type { OperationDefinition, Pagination, Resource, SentInput } from '../core/operation.ts'
import { newSecret, realSystem, type System } from '../core/system.ts'
import { type HostProgram, userAgentOf } from '../core/user-agent.ts'
import { refusal } from './api-error.ts'
import { prepare } from './input.ts'
import { type AttemptProgress, withRetries } from './retry.ts'
import { send, transportOver } from './send.ts'

export { Failure } from '../core/errors.ts'
export { ApiError, type ApiErrorFields } from './api-error.ts'

/** The options of `createClient`. */
export interface ClientOptions {
  /** Sends a request: the global `fetch`, or a function that answers in this process. */
  fetch: (request: Request) => Response | Promise<Response>
  /** Replaces `fetch` for an API in this process. Sends requests without creating `Request` objects. */
  carry?: ApiTransport | undefined
  /** The address of the API; may include a path prefix. */
  baseUrl: string
  /** Returns the API key, agent key or access token. Called before each attempt, so it can return a renewed token. */
  credential: () => Promise<string> | string
  /** The id of the agent run, session or conversation, sent as X-Instance-ID: 1 to 1024 printable ASCII characters. */
  instanceId: string
  /** The User-Agent of the requests, such as `my-shop/1.2.3`. Default: none. */
  program?: string | undefined
  /** The source of time, randomness and waiting. Default: this machine's. */
  system?: System | undefined
  /** The log that gets a warning before each retry. */
  log?: Log | undefined
  /** The time limit of one attempt, in milliseconds. Default: 60,000, the fixed limit for all attempts together. */
  attemptTimeoutMs?: number
}

/** The log of the client and the MCP server, such as a pino logger. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** The options of one call. */
export interface CallOptions {
  /** The idempotency key: 1 to 255 printable ASCII characters. To repeat a call, pass its key. Default: a new key. */
  idempotencyKey?: string | undefined
  /** Whether `idempotencyKey` was never sent before. If false (the default), an earlier call may have used it. */
  isNewKey?: boolean
  /** Whether an identical call was sent before with this key. */
  isRepeat?: boolean
  /** Whether the call carries out a model's tool call. */
  isToolCall?: boolean
  /** The id of the tool call for which this API call is made. */
  toolCall?: string | undefined
  /** The program on whose behalf the call is made. */
  host?: HostProgram | undefined
  /** The fault to inject if the API is in this process; it has no effect over a network. */
  fault?: Fault | undefined
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Called at the start of each attempt, and before each wait for the next attempt. */
  onAttempt?: ((progress: AttemptProgress) => void) | undefined
}

/** The answer to a successful call. */
export interface CallResult<D extends OperationDefinition> {
  /** The resource, with `id`, `type` and `attributes`; an array of them if the operation returns a list. */
  data: D['result'] extends 'page' | 'several' ? Resource<D>[] : Resource<D>
  /** Details of the answer, such as `pagination` of a list. */
  meta: ({ pagination?: Pagination } & Record<string, unknown>) | undefined
  /** Whether the answer is the recorded response to an earlier request with the same key. */
  replayed: boolean
  /** The key that was sent; undefined if the operation takes none. */
  idempotencyKey: string | undefined
  /** The number of attempts, 1 to 4. */
  attempts: number
  /** Whether the wallet's balance covered the maximum of an issued card. Only an API in this process reports this. */
  isCovered?: boolean | undefined
}

/** A typed client of the payments API. */
export interface Client {
  /**
   * Runs one operation: validates the input, sends the request, and retries it with the same idempotency key.
   * @param operation The operation, from the catalogue of `payments-mcp/catalogue`.
   * @param input Path parameters, query parameters and attributes in one object. Amounts are whole cents.
   * @throws {Failure} If nothing was sent, because the input or the credential is invalid.
   * @throws {ApiError} If the call was refused or unanswered. If `outcomeUnknown` is true, a change may have been made.
   */
  call<D extends OperationDefinition>(operation: D, input: SentInput<D>, options?: CallOptions): Promise<CallResult<D>>
  /**
   * Iterates over at most 1000 pages of a list. Each page is a result of `call`. Throws the errors of `call`.
   * @example
   * ```ts
   * import { catalogue } from 'payments-mcp/catalogue'
   * import type { Client } from 'payments-mcp/client'
   *
   * export async function printCards(client: Client) {
   *   for await (const { data } of client.pages(catalogue.listAgentCards, { limit: 100 })) {
   *     for (const card of data) console.log(card.id, card.attributes.status)
   *   }
   * }
   * ```
   */
  pages<D extends OperationDefinition>(
    operation: D,
    input: SentInput<D>,
    options?: CallOptions,
  ): AsyncGenerator<CallResult<D>>
  /** One method for each operation of the catalogue, such as `operations.issueAgentCard(input)`. */
  operations: Operations
}

/** One method for each operation, under the operation's name in the catalogue. Each works like `call`. */
export type Operations = {
  [K in OperationKey]: (input: SentInput<Catalogue[K]>, options?: CallOptions) => Promise<CallResult<Catalogue[K]>>
}

/** Matches printable ASCII without a space at either end. A header transmits such a string unchanged. */
const headerValue = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/**
 * Creates a client of the payments API over any fetch function.
 *
 * A call is attempted at most 4 times in 60 seconds. It is retried if the answer is lost or has the status 408, 429,
 * 502 or 503. The delay before a retry is the one in `Retry-After`; without this header, it grows exponentially. All
 * attempts send the same idempotency key, so no change is made twice (docs/service.md#idempotency-key).
 * @param options The address, the credential and the function that sends requests.
 * @throws {Failure} With the code `invalid_value` if the instance id is unusable.
 * @throws {TypeError} If the base address isn't a URL.
 * @example On a deployed API:
 * ```ts
 * import { ApiError, createClient } from 'payments-mcp/client'
 *
 * const client = createClient({
 *   baseUrl: 'https://payments.example',
 *   fetch,
 *   credential: () => process.env.PAYMENTS_KEY ?? '',
 *   instanceId: 'order-1234',
 * })
 * try {
 *   const card = { merchant: { name: 'Example Store' }, maximumAmount: 5000, currency: 'USD' } as const // $50.00
 *   const { data, idempotencyKey } = await client.operations.issueAgentCard(card)
 *   console.log(data.id, data.attributes.status, idempotencyKey)
 * } catch (error) {
 *   if (!(error instanceof ApiError)) throw error
 *   console.error(error.code, error.detail, error.next)
 * }
 * ```
 * @example In a test, without a network:
 * ```ts
 * import { createClient } from 'payments-mcp/client'
 * import { createSandbox } from 'payments-mcp/testing'
 *
 * await using sandbox = await createSandbox({ port: false })
 * const { operations } = createClient({
 *   baseUrl: sandbox.url,
 *   fetch: sandbox.fetch,
 *   credential: () => sandbox.keys.agent,
 *   instanceId: 'test',
 * })
 * const { data: wallets } = await operations.listWallets({})
 * console.log(wallets[0]?.attributes.balance) // in cents
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const { system = realSystem, instanceId, attemptTimeoutMs = 60_000 } = options
  if (!headerValue.test(instanceId) || instanceId.length > 1024) {
    const detail = `The instance id must be 1 to 1024 printable ASCII characters; got ${show(instanceId)}.`
    fail('invalid_value', { detail, source: { header: 'X-Instance-ID' } })
  }
  const { origin, pathname, host } = new URL(options.baseUrl)
  const carry = options.carry ?? transportOver(options.fetch, origin + pathname.replace(/\/+$/, ''))
  const call: Client['call'] = async (operation, input, callOptions = {}) => {
    const { path, params, body } = prepare(operation, input)
    const beganAtMs = system.elapsed()
    const idempotencyKey = operation.idempotency === 'required' ? keyFor(callOptions, system) : undefined
    let credential = ''
    const attempt = async (timeoutMs: number) => {
      const source = await credentialOf(options)
      if (source instanceof Failure) return { kind: 'unsent', failure: source } as const
      credential = source
      const headers: Record<string, string> = { Authorization: `Bearer ${credential}`, 'X-Instance-ID': instanceId }
      if (options.program !== undefined) headers['User-Agent'] = userAgentOf(options.program, callOptions.host)
      if (idempotencyKey !== undefined) headers['Idempotency-Key'] = idempotencyKey
      if (callOptions.isRepeat === true) headers['X-MCP-Repeat'] = 'true'
      if (callOptions.isToolCall === true) headers['X-MCP-Tool-Call'] = 'true'
      if (callOptions.toolCall !== undefined) headers['X-MCP-Tool-Call-Id'] = callOptions.toolCall
      if (body !== undefined) headers['Content-Type'] = 'application/json'
      const currentPath = shortenWait(operation, input, system.elapsed() - beganAtMs)?.path ?? path
      const { name, method } = operation
      const request = { operation: name, method, path: currentPath, params, headers, body, fault: callOptions.fault }
      return await send((signal) => carry(request, signal), { timeoutMs, signal: callOptions.signal })
    }
    const { answer, attempts, earlierOutcomeUnknown } = await withRetries(attempt, {
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
        // Unless the caller's key is new, an earlier call with this key may have been carried out.
        earlierOutcomeUnknown:
          earlierOutcomeUnknown || (callOptions.idempotencyKey !== undefined && callOptions.isNewKey !== true),
        host,
        credential,
        nowMs: system.now(),
      })
    }
    const { data, meta } = answer.json
    const { replayed, isCovered } = answer
    return { data, meta, replayed, idempotencyKey, attempts, isCovered } as CallResult<typeof operation>
  }

  let operations: Operations | undefined
  return {
    call,
    pages: (operation, input, callOptions) => pages(call, operation, input, callOptions),
    // Created on first use, because each of thousands of MCP connections may have a client that uses only `call`.
    get operations() {
      operations ??= operationsOver(call)
      return operations
    },
  }
}

/** Subtracts the time since the first attempt from `waitSeconds`, because an AI host waits no longer after a retry. */
function shortenWait(operation: OperationDefinition, input: object, pastMs: number) {
  const { waitSeconds } = input as { waitSeconds?: unknown }
  if (waitSeconds === undefined || pastMs === 0) return undefined
  return prepare(operation, { ...input, waitSeconds: Math.max(0, Math.floor(Number(waitSeconds) - pastMs / 1000)) })
}

/** Returns the credential, or the reason why there is none to send. */
async function credentialOf({ credential }: ClientOptions): Promise<string | Failure> {
  try {
    const text = await credential()
    if (headerValue.test(text)) return text
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
  return new Failure('unauthenticated', { detail: 'The credential is empty or contains invalid characters.' })
}

/** The page limit of a list: 100,000 records at the largest page size. A longer list is an error in the service. */
const maximumPages = 1000

/**
 * Iterates over the pages of a list, up to the page without a next cursor. Also stops at a cursor that was used before,
 * because a service that repeats a cursor would otherwise return the same pages again.
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
  if (headerValue.test(key) && key.length <= 255) return key
  const detail = 'The idempotency key must be 1 to 255 printable ASCII characters.'
  return fail('invalid_value', { detail, source: { header: 'Idempotency-Key' } })
}

function hasData(json: unknown): json is { data: unknown; meta?: unknown } {
  return typeof json === 'object' && json !== null && 'data' in json
}
