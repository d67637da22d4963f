import type { Context, Hono } from 'hono'
import { bodyFor, type CompressedBody, compress } from '../../request/compressed-body.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { failingAs } from '../frame/failure.ts'
import { ownFileHeaders, scriptedPageHeaders } from '../frame/headers.ts'
import { docsPage } from './view.ts'
import { readViewerFile, type ViewerFile } from './viewer.ts'

/** The viewer's style sheet embeds its images as data. */
const policy = scriptedPageHeaders['Content-Security-Policy'].replace("img-src 'self'", "img-src 'self' data:")

/**
 * The headers of the viewer's page. Besides its own files, it may request the document and try operations, both on this
 * site. Two HTML policies are allowed: the page's own, and that of the viewer's sanitizer.
 */
export const docsHeaders = {
  ...scriptedPageHeaders,
  'Content-Security-Policy': `${policy}; connect-src 'self'; trusted-types default dompurify`,
} as const

/** One day: a new version of the package may bring new files. */
const fileHeaders = { ...ownFileHeaders, 'Cache-Control': 'public, max-age=86400' } as const

const types = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
} as const satisfies Record<ViewerFile, string>

/** Mounts the viewer of the OpenAPI document and its files, which this site serves itself. */
export function mountDocs(app: Hono, pages: PageDependencies): void {
  app.get('/docs', (c) => orFailure(c, pages, async () => c.html(docsPage(), 200, docsHeaders)))
  const files = new Map<ViewerFile, Promise<CompressedBody>>()
  const send = async (c: Context, name: ViewerFile) => {
    const file = files.get(name) ?? readViewerFile(name).then(compress)
    files.set(name, file)
    const { body, headers } = bodyFor(await file, c.req.header('accept-encoding'))
    return c.body(body, 200, { ...fileHeaders, 'Content-Type': types[name], ...headers })
  }
  app.get('/docs/swagger-ui-bundle.js', (c) => send(c, 'swagger-ui-bundle.js'))
  app.get('/docs/swagger-ui.css', (c) => send(c, 'swagger-ui.css'))
}

const orFailure = failingAs({ page: 'the API documentation', headers: docsHeaders })
