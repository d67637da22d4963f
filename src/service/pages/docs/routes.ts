import type { Hono } from 'hono'
import type { openApiDocument } from '../../../openapi/document.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { failurePageWrapper } from '../frame/failure.ts'
import { scriptedPageHeaders as headers } from '../frame/headers.ts'
import { type OperationShown, operationsOf } from './reference.ts'
import { operationPage, referencePage } from './view.ts'

interface Reference {
  serverUrl: string
  document: ReturnType<typeof openApiDocument>
  operations: OperationShown[]
}

/** Mounts the API reference: a list of the operations in the OpenAPI document, and a page for each operation. */
export function mountDocs(app: Hono, pages: PageDependencies): void {
  let cached: Promise<Reference> | undefined
  const reference = async () => {
    const serverUrl = pages.publicUrl()
    if ((await cached)?.serverUrl !== serverUrl) cached = makeReference(pages.environment, serverUrl)
    return cached as Promise<Reference>
  }
  app.get('/docs', (c) =>
    withFailurePage(c, pages, async () => {
      const { document, operations, serverUrl } = await reference()
      const { tags, info } = document
      return c.html(referencePage({ operations, tags, serverUrl, about: info.description }), 200, headers)
    }),
  )
  app.get('/docs/:operationId', (c) =>
    withFailurePage(c, pages, async () => {
      const { operations, serverUrl } = await reference()
      const operation = operations.find(({ id }) => id === c.req.param('operationId'))
      return operation === undefined ? c.notFound() : c.html(operationPage(operation, serverUrl), 200, headers)
    }),
  )
}

async function makeReference(environment: PageDependencies['environment'], serverUrl: string): Promise<Reference> {
  const { openApiDocument } = await import('../../../openapi/document.ts')
  const document = openApiDocument({ environment, serverUrl })
  return { serverUrl, document, operations: operationsOf(document) }
}

const withFailurePage = failurePageWrapper({ page: 'the API reference', headers })
