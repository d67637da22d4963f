import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { zstdDecompressSync } from 'node:zlib'
import { dialects } from './dialects.ts'
import { nextAnswer, type Script } from './script.ts'

/** A model server on loopback that follows a script and understands the four protocols in `dialects`. */
export interface ScriptedModel {
  url: string
  /** The tool results in the longest conversation that the model has seen. */
  results(): readonly string[]
  /** The bodies of all requests. */
  requests: readonly unknown[]
  close(): Promise<void>
}

interface Failure {
  status: number
  headers?: Record<string, string>
  body: object
}

/**
 * Starts a model server.
 * @param failureOf returns the failure of the nth request, counted from 1; undefined if the request succeeds
 */
export async function scriptedModel(
  script: Script,
  failureOf: (nth: number, headers: IncomingHttpHeaders) => Failure | undefined = () => undefined,
): Promise<ScriptedModel> {
  const requests: unknown[] = []
  let results: readonly string[] = []
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://model')
    const dialect = dialects.find(({ path }) => path.test(pathname))
    const sent = await buffer(request)
    if (dialect === undefined || request.method !== 'POST') {
      response.writeHead(404, { 'Content-Type': 'application/json' })
      response.end('{"error":{"message":"not found","type":"not_found_error"}}')
      return
    }
    const text = request.headers['content-encoding'] === 'zstd' ? zstdDecompressSync(sent) : sent
    const body = JSON.parse(text.toString('utf8'))
    requests.push(body)
    const failure = failureOf(requests.length, request.headers)
    if (failure !== undefined) {
      response.writeHead(failure.status, { 'Content-Type': 'application/json', ...failure.headers })
      response.end(JSON.stringify(failure.body))
      return
    }
    const conversation = dialect.read(body)
    if (conversation.results.length >= results.length) results = conversation.results
    const answer = nextAnswer(script, conversation)
    const streamed = body.stream === true || searchParams.get('alt') === 'sse'
    const model = String(body.model ?? 'scripted')
    if (streamed && dialect.stream !== undefined) {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      for (const { event, data } of dialect.stream(answer, model)) {
        if (event !== undefined) response.write(`event: ${event}\n`)
        response.write(`data: ${JSON.stringify(data)}\n\n`)
      }
      response.end()
      return
    }
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(dialect.body(answer, model)))
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    results: () => results,
    requests,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
