import type { Context, Hono } from 'hono'
import type { Environment } from '../../core/operation.ts'
import { sha256 } from '../../core/system.ts'
import type { About } from '../../openapi/discovery.ts'

interface Discovery {
  environment: Environment
  publicUrl: () => string
  about: About
}

/**
 * Mounts the routes that describe this deployment to MCP hosts and models. These routes need no credential, because
 * they serve only public facts.
 */
export function mountDiscovery(app: Hono, discovery: Discovery): void {
  const deployment = () => ({ ...discovery, publicUrl: discovery.publicUrl() })
  const load = () => import('../../openapi/discovery.ts')
  app.options('/mcp/server-card', (c) => c.body(null, 204, cors))
  app.get('/mcp/server-card', async (c) => {
    const { serverCard, mediaTypes } = await load()
    return answer(c, JSON.stringify(serverCard(deployment())), { ...cors, 'Content-Type': mediaTypes.serverCard })
  })
  app.get('/.well-known/ai-catalog.json', async (c) => {
    const { aiCatalog, mediaTypes } = await load()
    return answer(c, JSON.stringify(aiCatalog(deployment())), { ...cors, 'Content-Type': mediaTypes.aiCatalog })
  })
  app.get('/llms.txt', async (c) => {
    const text = (await load()).llmsText(deployment())
    return answer(c, text, { 'Content-Type': 'text/markdown; charset=utf-8' })
  })
}

/**
 * The headers that let pages of other sites read the AI catalog and the server card. The specification of server cards
 * requires these headers.
 */
const cors = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET',
  'Access-Control-Allow-Headers': 'Content-Type, If-None-Match',
  'Access-Control-Expose-Headers': 'ETag',
} as const

/**
 * The headers of all answers. Clients may cache an answer for an hour, as the specification of server cards requires.
 */
const cacheHeaders = { 'Cache-Control': 'public, max-age=3600', 'X-Content-Type-Options': 'nosniff' } as const

function answer(c: Context, text: string, headers: Record<string, string>): Response {
  const etag = `"${sha256(text).slice(0, 32)}"`
  const all = { ...cacheHeaders, ...headers, ETag: etag }
  const knownTags = (c.req.header('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return knownTags.includes(etag) || knownTags.includes('*') ? c.body(null, 304, all) : c.body(text, 200, all)
}
