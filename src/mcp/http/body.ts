import type { BodyCount } from '../../core/body-budget.ts'
import { boundedText } from '../../core/bounded-text.ts'
import { Failure } from '../../core/errors.ts'
import { type RpcRefusal, rpc } from './responses.ts'

/** Reads a request's body as JSON. Returns a refusal if the body is invalid or too large. */
export async function readJson(
  request: Request,
  maximumBytes: number,
  count?: BodyCount,
): Promise<{ json: unknown; characters: number } | RpcRefusal> {
  try {
    const text = await boundedText(request, maximumBytes, count)
    if (text === undefined) {
      return { status: 413, code: rpc.server, message: `The body is too large: send at most ${maximumBytes} bytes.` }
    }
    return { json: JSON.parse(text), characters: text.length }
  } catch (error) {
    if (error instanceof Failure) {
      const { status, message, retryAfterSeconds = 1 } = error
      return { status, code: rpc.server, message, headers: { 'Retry-After': String(retryAfterSeconds) } }
    }
    const problem = error instanceof SyntaxError ? 'The body is not valid JSON.' : 'The body could not be read.'
    return { status: 400, code: rpc.parse, message: `Parse error: ${problem}` }
  }
}
