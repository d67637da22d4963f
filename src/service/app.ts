import { type Context, Hono } from 'hono'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import type { ApiAnswer, ApiTransport } from '../core/api-transport.ts'
import { Failure } from '../core/errors.ts'
import { ConnectionCutError } from '../core/faults.ts'
import type { OperationDefinition } from '../core/operation.ts'
import { plainHeaders } from '../core/plain-headers.ts'
import { newId } from '../core/system.ts'
import type { About } from '../openapi/discovery.ts'
import { refusedForNow } from './oauth/json-answers.ts'
import { mountOAuth, type OAuthDependencies } from './oauth/mount.ts'
import { devicePages } from './pages/consent/device-view.ts'
import { bannerNow, withBanner } from './pages/frame/banner.ts'
import type { PageDependencies } from './pages/frame/dependencies.ts'
import { isBrowsing, showUnknownAddress } from './pages/frame/unknown-address.ts'
import { mountPages } from './pages/mount.ts'
import { hasLeft, isReadable, isSmallBody, readBody, tooLarge } from './request/body.ts'
import { countBodies } from './request/body-counts.ts'
import { callerOf } from './request/client-address.ts'
import { mountDiscovery } from './request/discovery-routes.ts'
import { authenticateEarly } from './request/early-authentication.ts'
import { mountHealth } from './request/health.ts'
import { markAsLogged } from './request/log-refusal.ts'
import { answerLongPoll } from './request/long-poll.ts'
import { mountOpenApi } from './request/openapi-route.ts'
import type { Readiness } from './request/readiness.ts'
import { failureOf, type Reply, refusal, requestId } from './request/reply.ts'
import { type Observe, observeRequests } from './request/request-metrics.ts'
import { counted, type Incoming, type Unread, withBody } from './request/request-parsing.ts'

/** The dependencies of the parts of the service. They are created at startup. */
export interface Dependencies extends OAuthDependencies, PageDependencies {
  readiness: Readiness
  about: About
  observe?: Observe | undefined
}

/** The HTTP side of the service. */
export interface App {
  routes: readonly { method: string; path: string }[]
  /** Answers a request. @param caller What the listener knows about the caller. */
  fetch(request: Request, caller?: unknown): Promise<Response>
}

/**
 * Creates the service's HTTP side: a fetch function with routes for the operations, OAuth, the pages, and documents
 * such as `/openapi.json`.
 */
export function createApp(dependencies: Dependencies): App {
  const app = new Hono()
  if (dependencies.observe !== undefined) app.use(observeRequests(dependencies.observe, dependencies.system))
  for (const key of Object.keys(catalogue) as OperationKey[]) {
    const operation: OperationDefinition = catalogue[key]
    if (!operation.environments.includes(dependencies.environment)) continue
    const path = operation.path.replace(/\{(\w+)\}/g, ':$1')
    app.on(operation.method, path, async (c) =>
      markAsLogged(respond(await answerLongPoll(dependencies, key, await readIncoming(c), c.req.raw.signal))),
    )
  }
  app.use('/oauth/*', countBodies(refusedForNow))
  const interactions = mountOAuth(app, { ...dependencies, devicePages })
  app.use(countBodies())
  mountPages(app, { ...dependencies, interactions })
  mountHealth(app, dependencies)
  mountOpenApi(app, dependencies)
  mountDiscovery(app, dependencies)
  app.notFound(async (c) =>
    isBrowsing(c) ? showUnknownAddress(c, dependencies) : respond(await noSuchOperation(dependencies, c)),
  )
  app.onError((error, c) => respond(failureReply(dependencies, c, error)))
  return {
    routes: app.routes,
    fetch: async (request, caller) => withBanner(await app.fetch(request, caller), () => bannerNow(dependencies)),
  }
}

/**
 * Returns a function that creates a transport for a client in this process. The transport finds the operation by its
 * name, so no route has to be matched.
 */
export function createTransport(dependencies: Dependencies): (caller?: typeof counted) => ApiTransport {
  const { system, observe } = dependencies
  const keys = new Map<string, OperationKey>()
  for (const [key, { name, environments }] of Object.entries<OperationDefinition>(catalogue)) {
    if (environments.includes(dependencies.environment)) keys.set(name, key as OperationKey)
  }
  return (caller) =>
    async ({ operation, method, path: whole, params, headers, body = '', fault }, signal) => {
      const [path = '', query] = whole.split('?')
      const key = keys.get(operation)
      if (key === undefined) return apiAnswer(refuse(dependencies, noOperation(method, path)))
      const isCounted = caller === counted
      const sent = { query: new URLSearchParams(query), headers: plainHeaders(headers) }
      const head = { method, path, params, ...sent, isCounted, fault }
      const incoming = isReadable(body) ? withBody(head, body) : { ...head, read: async () => tooLarge() }
      const beganAtMs = system.elapsed()
      const reply = await answerLongPoll(dependencies, key, incoming, signal)
      observe?.(operation, reply.status, (system.elapsed() - beganAtMs) / 1000)
      return apiAnswer(reply)
    }
}

function apiAnswer({ status, body, headers, isCovered }: Reply): ApiAnswer {
  return { status, body, headers: plainHeaders(headers), isCovered }
}

/**
 * Reads a request. A small body is read immediately, unless it counts against the caller's key. Any other body is read
 * later, when the key is known.
 */
async function readIncoming(c: Context): Promise<Incoming | Unread> {
  const request = c.req.raw
  const { pathname, searchParams } = new URL(request.url)
  const { method, headers } = request
  const isCounted = c.env === counted
  const head = { method, path: pathname, params: c.req.param(), query: searchParams, headers, isCounted }
  const body = callerOf(c)?.body
  if (isSmallBody(request) && body?.countsAgainstAddress !== false) {
    return withBody(head, await readBody(request, body?.byAddress()))
  }
  return { ...head, read: (keyId) => readBody(request, body?.byKey(keyId)) }
}

function respond({ status, body, headers }: Reply): Response {
  return new Response(body, { status, headers: { 'Content-Type': 'application/json', ...headers } })
}

/**
 * Responds to an unknown route. If the request has a valid credential, it counts against the credential's rate limit,
 * and the response has the rate limit headers.
 */
async function noSuchOperation(dependencies: Dependencies, { req }: Context): Promise<Reply> {
  const reply = refuse(dependencies, noOperation(req.method, req.path))
  const authorization = req.header('authorization') ?? null
  if (authorization === null) return reply
  try {
    const { keyId } = await authenticateEarly(dependencies, authorization)
    const { headers, failure } = await dependencies.rateLimit(keyId)
    const answered = failure === undefined ? reply : refuse(dependencies, failure)
    return { ...answered, headers: { ...answered.headers, ...headers } }
  } catch (error) {
    if (error instanceof Failure) return reply
    throw error
  }
}

function noOperation(method: string, path: string): Failure {
  const detail = `There is no operation ${method} ${path.slice(0, 200)}. GET /openapi.json lists all operations.`
  return new Failure('not_found', { detail })
}

/** Returns the response to an error that was thrown outside the pipeline. */
function failureReply(dependencies: Dependencies, { req }: Context, error: unknown): Reply {
  const { system, log } = dependencies
  // On this error, the caller of `fetch` cuts the connection without a response.
  if (error instanceof ConnectionCutError) throw error
  if (error instanceof Failure) return refuse(dependencies, error)
  const supportId = newId('req', system, system.now())
  const failure = failureOf(error)
  // If the client has disconnected, the service is not at fault.
  if (hasLeft(req.raw)) log.info({ supportId, reason: String(error) }, 'a client left before its request was read')
  else if (failure.code === 'service_unavailable') log.warn({ supportId, err: error }, busyMessage)
  else log.error({ supportId, err: error }, 'a request failed outside the pipeline')
  return withSupportId(refusal(failure, supportId), supportId)
}

const busyMessage = 'the database could not take the request'

/** Returns the refusal of a request that does not reach the pipeline. */
function refuse({ system }: Dependencies, failure: Failure): Reply {
  const supportId = newId('req', system, system.now())
  return withSupportId(refusal(failure, supportId), supportId)
}

function withSupportId(reply: Reply, supportId: string): Reply {
  return { ...reply, headers: { ...reply.headers, ...requestId(supportId) } }
}
