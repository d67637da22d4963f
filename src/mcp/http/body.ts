import { boundedText } from '../../core/bounded-text.ts'
import { type RpcRefusal, rpc } from './responses.ts'

/** The body as JSON, or why it is none. */
export async function readJson(
  request: Request,
  maximumBytes: number,
): Promise<{ json: unknown; characters: number } | RpcRefusal> {
  try {
    const text = await boundedText(request, maximumBytes)
    if (text === undefined) {
      return { status: 413, code: rpc.server, message: `The body is too large: send at most ${maximumBytes} bytes.` }
    }
    return { json: JSON.parse(text), characters: text.length }
  } catch (error) {
    const problem = error instanceof SyntaxError ? 'The body is not valid JSON.' : 'The body could not be read.'
    return { status: 400, code: rpc.parse, message: `Parse error: ${problem}` }
  }
}
