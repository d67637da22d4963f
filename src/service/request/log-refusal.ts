import type { Logger } from '../../config/log.ts'
import { loggedPath } from '../../core/logged-path.ts'
import { hasLeft } from './body.ts'

/** The responses of operations. `logAnswer` has already logged them in more detail. */
const logged = new WeakSet<Response>()

export function markAsLogged(response: Response): Response {
  logged.add(response)
  return response
}

interface Refused {
  request: Request
  response: Response
  supportId: string
  ms: number
}

/**
 * Logs a response if it is a refusal that is not logged yet. Such refusals come from pages, the MCP endpoint and the
 * sign-in, or answer requests with an unknown path.
 */
export async function logRefusal(log: Logger, { request, response, supportId, ms }: Refused): Promise<void> {
  const { status, headers } = response
  if (status < 400 || logged.has(response) || hasLeft(request)) return
  const { method, url } = request
  const fields = {
    supportId: headers.get('x-request-id') ?? supportId,
    status,
    code: await codeOf(response),
    method,
    ms,
  }
  logLine(log, { ...fields, path: new URL(url).pathname })
}

interface Line {
  supportId: string
  status: number
  code: string
  method: string
  path: string
  ms: number
}

/** Logs a refusal. Secrets in the request's path are masked. */
export function logLine(log: Logger, { path, ms, ...fields }: Line): void {
  log.info({ ...fields, path: loggedPath(path), ms: Math.round(ms) }, 'refused')
}

const codeForm = /^[a-z_.]{1,60}$/

/**
 * Returns the error code from the body of an API or OAuth error. For any other response, returns a code made from the
 * status.
 */
async function codeOf(response: Response): Promise<string> {
  const { status, headers } = response
  // Imported only when needed: `node:http` also loads Node's HTTP clients, which would take 20 MB in an idle process.
  const { STATUS_CODES } = await import('node:http')
  const byStatus = (STATUS_CODES[status] ?? 'refused').toLowerCase().replace(/[^a-z]+/g, '_')
  if (!headers.get('content-type')?.startsWith('application/json')) return byStatus
  try {
    const body = (await response.clone().json()) as { errors?: { code?: unknown }[]; error?: unknown }
    const named = body.errors?.[0]?.code ?? body.error
    return typeof named === 'string' && codeForm.test(named) ? named : byStatus
  } catch {
    return byStatus
  }
}
