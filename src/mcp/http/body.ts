import { readRequestBody } from '@modelcontextprotocol/server'
import { type RpcRefusal, rpc } from './responses.ts'

/** The body as JSON, or why it is none. */
export async function readJson(
  request: Request,
  maximumBytes: number,
): Promise<{ json: unknown; characters: number } | RpcRefusal> {
  try {
    const text = await readText(request, maximumBytes)
    if (text === undefined) {
      return { status: 413, code: rpc.server, message: `The body is too large: send at most ${maximumBytes} bytes.` }
    }
    return { json: JSON.parse(text), characters: text.length }
  } catch (error) {
    const problem = error instanceof SyntaxError ? 'The body is not valid JSON.' : 'The body could not be read.'
    return { status: 400, code: rpc.parse, message: `Parse error: ${problem}` }
  }
}

/** Undefined when it is larger. What declares its length is not longer than that: HTTP sees to it. */
async function readText(request: Request, maximumBytes: number): Promise<string | undefined> {
  const declared = request.headers.get('content-length')
  if (declared !== null && Number(declared) <= maximumBytes) return request.text()
  const read = await readRequestBody(request, maximumBytes)
  return read.tooLarge ? undefined : read.text
}
