import { afterAll, beforeAll, expect, test } from 'vitest'
import { hostBlock, hostLink, hostNames, hostSetups } from '../../src/core/host-setups.ts'
import { toolsets } from '../../src/core/operation.ts'
import { createService } from '../../src/service/service.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { decoded } from './decoded.ts'

const start = {
  command: '/opt/node',
  args: ['/opt/payments/cli.js'],
  env: { PAYMENTS_DATABASE_URL: 'sqlite:/tmp/a.db' },
}
const about = {
  name: 'org.example/payments',
  version: '1.2.3',
  protocolVersions: ['2026-07-28', '2025-11-25'],
  toolsets: ['default'],
  readOnly: false,
  start,
} as const
const here = 'http://127.0.0.1:4010'
const url = `${here}/mcp`
let world: World

beforeAll(async () => {
  world = await createWorld(sqlite)
})
afterAll(() => world.drop())

function serviceWith(change: Partial<Parameters<typeof createService>[0]> = {}) {
  const { store, system } = world
  const line = () => undefined
  const log = { debug: line, info: line, warn: line, error: line }
  return createService({ store, system, environment: 'sandbox', rateLimit: 1e6, log, about, ...change })
}

const html = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
async function get(path: string, headers: Record<string, string> = {}, service = serviceWith(), method = 'GET') {
  const answer = await service.fetch(new Request(here + path, { method, headers }))
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

test('the home page shows a person a description, the status, and links to all other pages', async () => {
  const { status, headers, text } = await get('/', html)
  expect(status).toBe(200)
  expect(text).toContain('<span class="state good">Running</span>, sandbox, version 1.2.3')
  expect(text).toContain('Issue a card for 50 dollars')
  for (const path of [
    '/sign-in',
    '/decisions',
    '/connections',
    '/shops',
    '/docs',
    '/openapi.json',
    '/llms.txt',
    '/mcp/server-card',
  ])
    expect(text).toContain(`href="${path}"`)
  expect(headers.get('vary')).toBe('Accept')
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'; require-trusted-types-for 'script'",
  )
  expect(text).not.toMatch(/<script(?![^>]* src="\/)|<style| style=| on\w+=/i)
})

test('for each host, the page shows how to configure the server by URL and by command, and an install link if the host has one', async () => {
  for (const name of hostNames) {
    const text = decoded((await get(`/?host=${name}`, html)).text)
    for (const reach of [{ url }, { start }]) {
      const [block, link] = [hostBlock(name, reach), hostLink(name, reach)]
      if (block !== null) expect(text).toContain(`<code>${block}</code>`)
      if (link !== null) expect(text).toContain(`href="${link}"`)
    }
    expect(text).toContain(`aria-current="true">${hostSetups[name].title}</a>`)
  }
  expect((await get('/?host=%3Cb%3E', html)).text).toContain('aria-current="true">Claude Code</a>')
})

test('paths of this machine are shown only to visitors on this machine, and never in production', async () => {
  const away = { local: false, address: '192.0.2.1' }
  const answer = await serviceWith().fetch(new Request(`${here}/`, { headers: html }), away)
  expect(await answer.text()).not.toContain('/opt/')
  const production = await get('/', html, serviceWith({ environment: 'production' }))
  expect(production.text).not.toContain('/opt/')
  expect(production.text).not.toContain('Sandbox')
})

test('a program that reads the home page gets links as JSON, and each link works', async () => {
  const service = serviceWith()
  const { headers, text } = await get('/', { Accept: '*/*' }, service)
  expect(headers.get('content-type')).toBe('application/json')
  const { links, ...facts } = JSON.parse(text)
  expect(facts).toMatchObject({ name: 'Payments (sandbox)', environment: 'sandbox', version: '1.2.3' })
  for (const link of Object.values<string>(links)) {
    if (link !== url) expect((await get(link.slice(here.length), {}, service)).status, link).toBeLessThan(400)
  }
})

test('each public address answers HEAD with 200, and POST with 404', async () => {
  for (const path of [
    '/',
    '/favicon.ico',
    '/favicon.svg',
    '/llms.txt',
    '/mcp/server-card',
    '/.well-known/ai-catalog.json',
  ]) {
    expect((await get(path, {}, serviceWith(), 'HEAD')).status, path).toBe(200)
    expect((await get(path, {}, serviceWith(), 'POST')).status, path).toBe(404)
  }
})

test('once the sandbox clock has been advanced, the banner shows its time, but never in production', async () => {
  const moved = await createWorld(sqlite)
  const page = async () => (await moved.service.fetch(new Request(`${here}/sign-in`))).text()
  expect(await page()).toContain('<p class="sandbox">Sandbox: no real money</p>')
  await moved.post('/simulations/clock/advance', { seconds: 86_400 })
  expect(await page()).toMatch(/Clock moved: it is now <time datetime="\d{4}-[^"]+">\w+ \d+, \d{4} at /)
  const { store, system } = moved
  const production = serviceWith({ store, system, environment: 'production' })
  expect((await get('/sign-in', html, production)).text).not.toContain('clock')
  await moved.drop()
})

test('the server card states the address and the transport of the MCP server, and can be cached', async () => {
  const { headers, text } = await get('/mcp/server-card')
  expect(JSON.parse(text)).toEqual({
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: 'org.example/payments',
    version: '1.2.3',
    title: 'Payments',
    description: expect.stringMatching(/^.{1,100}$/),
    websiteUrl: `${here}/`,
    icons: [{ src: `${here}/favicon.svg`, mimeType: 'image/svg+xml', sizes: ['any'] }],
    remotes: [{ type: 'streamable-http', url, supportedProtocolVersions: ['2026-07-28', '2025-11-25'] }],
  })
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'application/mcp-server-card+json',
    'cache-control': 'public, max-age=3600',
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET',
    'access-control-expose-headers': 'ETag',
  })
  const again = await get('/mcp/server-card', { 'If-None-Match': headers.get('etag') ?? '' })
  expect([again.status, again.text]).toEqual([304, ''])
  const preflight = await get('/mcp/server-card', {}, serviceWith(), 'OPTIONS')
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
})

test('the AI catalog links to the server card and the API description at the service’s public address', async () => {
  const service = serviceWith({ publicUrl: () => 'https://pay.example' })
  const { headers, text } = await get('/.well-known/ai-catalog.json', {}, service)
  expect(headers.get('content-type')).toBe('application/ai-catalog+json')
  const catalog = JSON.parse(text)
  expect(catalog).toMatchObject({ specVersion: '1.0', host: { documentationUrl: 'https://pay.example/docs' } })
  expect(catalog.entries).toMatchObject([
    {
      identifier: 'urn:air:pay.example:mcp:payments',
      type: 'application/mcp-server-card+json',
      url: 'https://pay.example/mcp/server-card',
    },
    { identifier: 'urn:air:pay.example:openapi:payments', url: 'https://pay.example/openapi.json' },
  ])
  for (const { identifier } of catalog.entries)
    expect(identifier).toMatch(/^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$/)
})

test('the API reference has a page for each operation, and no page loads anything from other sites', async () => {
  const { text } = await get('/docs', html)
  const service = serviceWith()
  const { paths } = JSON.parse((await get('/openapi.json', {}, service)).text) as { paths: Record<string, object> }
  const described = Object.values(paths).flatMap((methods) => Object.values<{ operationId: string }>(methods as never))
  expect(described.length).toBeGreaterThan(100)
  for (const { operationId } of described) {
    expect(text).toContain(`<a href="/docs/${operationId}">`)
    const page = await get(`/docs/${operationId}`, html, service)
    expect(page.status, operationId).toBe(200)
    for (const word of ['undefined', '[object', 'NaN']) expect(page.text, operationId).not.toContain(word)
  }
  const page = await get('/docs/createPayment', html, service)
  expect(page.headers.get('content-security-policy')).toBe(
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'; require-trusted-types-for 'script'",
  )
  expect(page.text).not.toMatch(/<script(?![^>]* src="\/)|<style| style=| on\w+=/i)
  for (const [, path = ''] of page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g))
    expect((await get(path)).status, path).toBe(200)
  const words = ['POST /payments', 'Idempotency-Key', 'data.attributes.counterparty.type', 'server_error']
  for (const word of words) expect(page.text).toContain(word)
  expect((await get('/docs/no-such-operation', html, service)).status).toBe(404)
})

test('llms.txt lists every tool of the environment, beginning with those that the server offers to hosts', async () => {
  const toolsOf = async (change: Parameters<typeof serviceWith>[0]) => {
    const [first = '', others = ''] = (await get('/llms.txt', {}, serviceWith(change))).text.split('## Optional')
    const named = (text: string) => [...text.matchAll(/^- \[(\w+_\w+)\]/gm)].map(([, name]) => name)
    return { first: named(first), others: named(others) }
  }
  const sandbox = await toolsOf({})
  expect(sandbox.first).toContain('issue_agent_card')
  expect(sandbox.others).toContain('create_agent')
  const all = await toolsOf({ about: { ...about, toolsets } })
  expect(all.others).toEqual([])
  expect(all.first.toSorted()).toEqual([...sandbox.first, ...sandbox.others].toSorted())
  const readOnly = await toolsOf({ about: { ...about, readOnly: true } })
  expect(readOnly.first).toContain('list_wallets')
  expect(readOnly.first).not.toContain('issue_agent_card')
  const production = await toolsOf({ environment: 'production' })
  expect([...production.first, ...production.others].filter((name) => name?.startsWith('simulate_'))).toEqual([])
})
