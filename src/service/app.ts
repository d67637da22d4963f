import { Hono } from 'hono'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { Failure } from '../errors.ts'
import { newId } from '../system.ts'
import { createApprovalReviews } from './approval-review.ts'
import { createCardPages } from './card-page.ts'
import { createCheckout } from './checkout.ts'
import { createConnect } from './connect.ts'
import { createConnectLinks } from './connect-links.ts'
import { handlers } from './handlers/index.ts'
import { type Incoming, parseJson } from './incoming.ts'
import { mountOAuth } from './oauth/mount.ts'
import { mountApprovalPages } from './pages/approval-routes.ts'
import { mountCardPages } from './pages/card-routes.ts'
import { mountCheckout } from './pages/checkout-routes.ts'
import { mountClaims } from './pages/claim-routes.ts'
import { mountConnect } from './pages/connect-routes.ts'
import { mountLinks } from './pages/link-routes.ts'
import { mountVerify } from './pages/verify-routes.ts'
import { answer, type Dependencies, type Endpoint } from './pipeline.ts'
import { type Reply, refusal } from './reply.ts'
import { createSecondFactor } from './second-factor.ts'
import { clockOffset } from './store/clock.ts'
import { settledNow } from './time.ts'

const mostBodyBytes = 1024 * 1024

/** The REST API of an environment as a fetch function: a route for each of its operations, and what is not a resource. */
export function createApp(dependencies: Dependencies): Hono {
  const app = new Hono()
  for (const key of Object.keys(catalogue) as OperationKey[]) {
    const endpoint: Endpoint = { operation: catalogue[key], handler: handlers[key] as Endpoint['handler'] }
    if (!endpoint.operation.environments.includes(dependencies.environment)) continue
    const path = endpoint.operation.path.replace(/\{(\w+)\}/g, ':$1')
    app.on(endpoint.operation.method, path, async (c) => {
      const body = await readBody(c.req.raw)
      if (body === undefined) return respond(tooLarge(dependencies))
      return respond(await answer(dependencies, endpoint, incoming(c.req.raw, c.req.param(), body)))
    })
  }
  const { store, system } = dependencies
  const now = () => store.transaction((tx) => settledNow(tx, system))
  mountCheckout(app, { ...dependencies, checkout: createCheckout(store, system), now })
  mountConnect(app, { ...dependencies, connect: createConnect(store, system) })
  mountLinks(app, { ...dependencies, connectLinks: createConnectLinks(store, system) })
  mountClaims(app, dependencies)
  mountVerify(app, { ...dependencies, secondFactor: createSecondFactor(store, system, dependencies.environment) })
  mountOAuth(app, dependencies)
  mountCardPages(app, { ...dependencies, cardPages: createCardPages(store, system) })
  mountApprovalPages(app, { ...dependencies, reviews: createApprovalReviews(store, system) })
  app.get('/healthz', async (c) => {
    // Reading waits for none of those who write.
    await dependencies.store.read(clockOffset)
    return c.json({ status: 'ok', environment: dependencies.environment })
  })
  app.get('/openapi.json', async (c) => {
    const { openApiDocument } = await import('../openapi.ts')
    const { environment } = dependencies
    return c.json(openApiDocument({ environment, serverUrl: new URL(c.req.url).origin }))
  })
  app.notFound((c) => respond(noSuchOperation(dependencies, c.req.method, c.req.path)))
  app.onError((error) => {
    const supportId = newId('req', dependencies.system, dependencies.system.now())
    dependencies.log.error({ supportId, err: error }, 'a request failed outside the pipeline')
    return respond(refusal(new Failure('server_error'), supportId))
  })
  return app
}

function incoming(request: Request, params: Record<string, string>, body: string): Incoming {
  const { pathname, searchParams } = new URL(request.url)
  const { method, headers } = request
  return { method, path: pathname, params, query: searchParams, headers, body, json: parseJson(body) }
}

/** The body as text; undefined when it is longer than the service reads. */
async function readBody(request: Request): Promise<string | undefined> {
  if (request.body === null) return ''
  if (Number(request.headers.get('content-length') ?? 0) > mostBodyBytes) return undefined
  // Without chunks the length that was declared bounds the body, and a caller in this process has it in memory anyway.
  if (!request.headers.has('transfer-encoding')) {
    const text = await request.text()
    return Buffer.byteLength(text) > mostBodyBytes ? undefined : text
  }
  return readChunks(request.body)
}

async function readChunks(body: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.byteLength
    if (length > mostBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function respond({ status, body, headers }: Reply): Response {
  return new Response(body, { status, headers: { 'Content-Type': 'application/json', ...headers } })
}

function tooLarge(dependencies: Dependencies): Reply {
  const detail = `The body must be at most ${mostBodyBytes} bytes long.`
  return refuse(dependencies, new Failure('invalid_value', { detail, source: { pointer: '' } }))
}

function noSuchOperation(dependencies: Dependencies, method: string, path: string): Reply {
  const detail = `There is no operation ${method} ${path.slice(0, 200)}. GET /openapi.json lists them.`
  return refuse(dependencies, new Failure('not_found', { detail }))
}

/** The answer to a request that does not reach the pipeline. */
function refuse({ system, log }: Dependencies, failure: Failure): Reply {
  const supportId = newId('req', system, system.now())
  log.info({ supportId, status: failure.status }, 'refused')
  return refusal(failure, supportId)
}
