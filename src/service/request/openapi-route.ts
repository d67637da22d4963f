import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Context, Hono } from 'hono'
import type { Environment } from '../../core/operation.ts'
import { sha256 } from '../../core/system.ts'

interface Document {
  serverUrl: string
  etag: string
  plain: Uint8Array<ArrayBuffer>
  compressed: Uint8Array<ArrayBuffer>
}

/** Serves the OpenAPI document, made once for the address that it names: anybody may ask for it as often as they like. */
export function mountOpenApi(
  app: Hono,
  { environment, publicUrl }: { environment: Environment; publicUrl: () => string },
): void {
  let made: { serverUrl: string; document: Promise<Document> } | undefined
  const documentFor = (serverUrl: string) => {
    if (made?.serverUrl !== serverUrl) made = { serverUrl, document: makeDocument(environment, serverUrl) }
    return made.document
  }
  app.get('/openapi.json', async (c) => answer(c, await documentFor(publicUrl())))
}

function answer(c: Context, { etag, plain, compressed }: Document): Response {
  const headers = { ETag: etag, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' }
  // RFC 9110 section 13.1.2: compared weakly, so one tag stands for both encodings.
  const known = (c.req.header('if-none-match') ?? '').split(',').map((tag) => tag.trim())
  if (known.includes(etag) || known.includes('*')) return new Response(null, { status: 304, headers })
  const json = { ...headers, 'Content-Type': 'application/json' }
  if (!acceptsGzip(c.req.header('accept-encoding') ?? '')) return new Response(plain, { headers: json })
  return new Response(compressed, { headers: { ...json, 'Content-Encoding': 'gzip' } })
}

function acceptsGzip(accepted: string): boolean {
  return accepted.split(',').some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)[\d.]+\s*)?$/i.test(coding))
}

async function makeDocument(environment: Environment, serverUrl: string): Promise<Document> {
  const { openApiDocument } = await import('../../openapi/document.ts')
  const text = JSON.stringify(openApiDocument({ environment, serverUrl }))
  const plain = Buffer.from(text)
  const compressed = await promisify(gzip)(plain, { level: constants.Z_BEST_COMPRESSION })
  return { serverUrl, etag: `W/"${sha256(text).slice(0, 32)}"`, plain, compressed }
}
