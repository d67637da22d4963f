import { RESOURCE_MIME_TYPE, RESOURCE_URI_META_KEY } from '@modelcontextprotocol/ext-apps/server'
import { describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { appResources, toolUiMeta } from '../../src/mcp/ui/apps.ts'
import { catalogue } from '../../tools/index.ts'

const operations = Object.values<OperationDefinition>(catalogue)
const sandboxViews = appResources('sandbox')

describe('tools with a view', () => {
  const toolNames = operations.map(({ name }) => name).filter((name) => toolUiMeta(name) !== undefined)

  test('only tools that return one card, one purchase or one approval have a view', () => {
    expect(toolNames).toEqual([
      'get_approval',
      'approve_approval',
      'deny_approval',
      'issue_agent_card',
      'get_agent_card',
      'get_card_transaction',
      'simulate_card_authorization',
      'simulate_card_capture',
      'simulate_card_reversal',
      'simulate_card_expiration',
      'simulate_card_refund',
    ])
    expect(toolUiMeta('get_agent_card_details')).toBeUndefined()
  })

  test("the metadata of a tool contains the URI of the tool's view, under the current key and the older one", () => {
    for (const name of toolNames) {
      const { ui, ...meta } = toolUiMeta(name) ?? {}
      expect(sandboxViews.map(({ uri }) => uri)).toContain(ui?.resourceUri)
      expect(meta).toEqual({ [RESOURCE_URI_META_KEY]: ui?.resourceUri })
    }
  })
})

describe.each(sandboxViews)('the view at $uri', (view) => {
  test('the view has the MIME type of MCP Apps, and requests access to no domains', () => {
    expect(view.mimeType).toBe(RESOURCE_MIME_TYPE)
    expect(view._meta).toEqual({ ui: { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true } })
  })

  test('the view is one small, self-contained HTML document that never parses strings as code or HTML', async () => {
    const html = await view.read()
    expect(html.length).toBeLessThan(60_000)
    const withoutComments = html.replace(/\/\*[\s\S]*?\*\//g, '')
    expect(
      withoutComments.match(/https?:|\bsrc=|\bhref=|url\(|@import|<link|<iframe|<img|^import |^export |\bimport\(/m),
    ).toBeNull()
    expect(
      withoutComments.match(/\binnerHTML\b|\binsertAdjacentHTML\b|\bdocument\.write\b|\beval\b|\son\w+="/),
    ).toBeNull()
    expect(html.match(/<script/g)).toHaveLength(1)
    expect(html.match(/<\/script/g)).toHaveLength(1)
    expect(html.match(/<!--/)).toBeNull()
  })

  test('the view reads no card number, and calls no tool that returns one', async () => {
    const withoutStyle = (await view.read()).replace(/<style>[^<]*<\/style>/, '')
    expect(withoutStyle.match(/cvv|\bnumber:|\.number\b|get_agent_card_details/)).toBeNull()
  })

  test('the view is marked with its environment, sandbox or production', async () => {
    const [inSandbox, inProduction] = [sandboxViews, appResources('production')].map((resources) =>
      resources.find(({ uri }) => uri === view.uri)?.read(),
    )
    expect(await inSandbox).toContain('<html lang="en" data-environment="sandbox">')
    expect(await inProduction).toContain('<html lang="en" data-environment="production">')
  })
})
