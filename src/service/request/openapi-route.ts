import type { Context, Hono } from 'hono'
import type { Environment } from '../../core/operation.ts'
import { sha256 } from '../../core/system.ts'
import { bodyFor, type CompressedBody, compress } from './compressed-body.ts'

interface Document extends CompressedBody {
  serverUrl: string
  etag: string
}

/**
 * Serves the OpenAPI document. The document is rebuilt only when the service's public URL has changed, so requests for
 * it are cheap and need no rate limit.
 */
export function mountOpenApi(
  app: Hono,
  { environment, publicUrl }: { environment: Environment; publicUrl: () => string },
): void {
  let cached: { serverUrl: string; document: Promise<Document> } | undefined
  const documentFor = (serverUrl: string) => {
    if (cached?.serverUrl !== serverUrl) cached = { serverUrl, document: makeDocument(environment, serverUrl) }
    return cached.document
  }
  app.get('/openapi.json', async (c) => answer(c, await documentFor(publicUrl())))
}

function answer(c: Context, { etag, ...document }: Document): Response {
  const headers = { ETag: etag, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' }
  // If-None-Match compares ETags weakly (RFC 9110 section 13.1.2), so the plain and the gzipped document can have the
  // same ETag.
  const knownTags = (c.req.header('if-none-match') ?? '').split(',').map((tag) => tag.trim())
  if (knownTags.includes(etag) || knownTags.includes('*')) return new Response(null, { status: 304, headers })
  const chosen = bodyFor(document, c.req.header('accept-encoding'))
  return new Response(chosen.body, { headers: { ...headers, 'Content-Type': 'application/json', ...chosen.headers } })
}

async function makeDocument(environment: Environment, serverUrl: string): Promise<Document> {
  const { openApiDocument } = await import('../../openapi/document.ts')
  const text = JSON.stringify(openApiDocument({ environment, serverUrl }))
  return { serverUrl, etag: `W/"${sha256(text).slice(0, 32)}"`, ...(await compress(Buffer.from(text))) }
}
