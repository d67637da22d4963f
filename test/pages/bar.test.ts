import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageNeeds } from '../../src/service/rules/page-needs.ts'
import { doorGrounds, type Grounds } from '../adversary/doors.ts'
import { onEachDatabase } from '../support/databases.ts'
import type { Visitor } from './oauth-site.ts'
import { type GetRoute, pagePaths } from './page-paths.ts'

/** Routes that return no page: a redirect and an event stream. */
const skipped: readonly GetRoute[] = ['GET /console/requests/:id', 'GET /console/stream']

const browserHeaders = { Accept: 'text/html,application/xhtml+xml;q=0.9' }

onEachDatabase('the navigation bar for signed-in people', (database) => {
  let grounds: Grounds
  let owner: Visitor
  let paths: Awaited<ReturnType<typeof pagePaths>>
  beforeAll(async () => {
    grounds = await doorGrounds(database)
    owner = await grounds.site.visitor(grounds.site.owner)
    paths = await pagePaths(grounds)
  })
  afterAll(() => grounds.site.world.drop())

  /** Opens a page, follows redirects, and returns the HTML of the last page. */
  const open = async (path: string, visitor = owner): Promise<string> => {
    const { text, location } = await visitor.open(path)
    if (location === null) return text
    const { pathname, search } = new URL(location, 'http://127.0.0.1:4010')
    return open(pathname + search, visitor)
  }

  const send = async (path: string, headers: Record<string, string>, method = 'GET') => {
    const request = new Request(`http://127.0.0.1:4010${path}`, { method, headers })
    const response = await grounds.site.world.service.fetch(request)
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
  }

  test('the navigation bar is on every page that requires a sign-in, and on no other page', async () => {
    for (const [route, path] of Object.entries(paths) as [GetRoute, string][]) {
      if (skipped.includes(route)) continue
      const isForSignedIn = ['session', 'proven'].includes(pageNeeds[route])
      const text = await open(path, isForSignedIn ? owner : await grounds.site.visitor())
      expect(text.match(/<nav aria-label="Pages">/g)?.length ?? 0, route).toBe(isForSignedIn ? 1 : 0)
      expect(text, route).not.toContain('<!-- ba')
      if (!text.includes('class="brand"')) continue
      expect(text, route).toContain('<div class="brand"><a href="/">')
    }
  })

  test.each<[GetRoute, string]>([
    ['GET /console/runs/:runId/report', 'Runs'],
    ['GET /console/money/wallets/:walletId', 'Money'],
    ['GET /console/sandbox', 'Sandbox'],
    ['GET /decide/:decisionId', 'Decisions'],
    ['GET /approvals/:approvalId/review', 'Decisions'],
    ['GET /connections', 'Connections'],
  ])('on %s, the navigation bar marks %s as the current page', async (route, name) => {
    const marked = [...(await open(paths[route])).matchAll(/aria-current="page">(\w+)/g)].map(([, text]) => text)
    expect(marked).toEqual([name])
  })

  test('the navigation bar counts only the calls and payments that the person’s own party must decide', async () => {
    const { site, stranger } = grounds
    const countOn = (text: string) => /class="count">(\d+\+?)</.exec(text)?.[1] ?? '0'
    const entries = (await open('/decisions')).match(/<section aria-labelledby="(?:decision|approval)-/g) ?? []
    expect(entries.length).toBeGreaterThan(1)
    expect(countOn(await open('/console'))).toBe(String(entries.length))
    expect(countOn(await open('/console', await site.visitor(stranger)))).toBe('0')
    const visitor = await site.visitor(site.owner)
    await visitor.open(paths['GET /decide/:decisionId'])
    await visitor.send(paths['GET /decide/:decisionId'], { decision: 'no' })
    expect(countOn(await open('/console'))).toBe(String(entries.length - 1))
  })

  test('a person can sign out in the navigation bar, and signing in again leads to the console', async () => {
    const visitor = await grounds.site.visitor(grounds.site.owner)
    await visitor.open('/decisions')
    expect((await visitor.send('/sign-out')).location).toBe('/sign-in')
    await visitor.open('/sign-in')
    expect((await visitor.send('/sign-in', { as: 'owner' })).location).toBe('/console')
  })

  test('a browser gets a page for an unknown address, with the navigation bar if a person is signed in', async () => {
    const { status, type, text } = await send('/no-such-page', browserHeaders)
    expect([status, type]).toEqual([404, 'text/html; charset=utf-8'])
    for (const path of ['/', '/console', '/decisions', '/docs']) expect(text).toContain(`<a href="${path}">`)
    expect(text).not.toContain('aria-label="Pages"')
    const Cookie = `payments_session=${await grounds.site.sessionOf(grounds.site.owner)}`
    expect((await send('/no-such-page', { ...browserHeaders, Cookie })).text).toContain('<nav aria-label="Pages">')
  })

  test('a program gets a JSON error for an unknown address', async () => {
    const json = { status: 404, type: 'application/json', text: expect.stringContaining('"code":"not_found"') }
    expect(await send('/no-such-page', {})).toMatchObject(json)
    expect(await send('/no-such-page', { Accept: '*/*' })).toMatchObject(json)
    expect(await send('/no-such-page', browserHeaders, 'POST')).toMatchObject(json)
    const Authorization = `Bearer ${grounds.site.world.agentKey}`
    expect(await send('/no-such-page', { ...browserHeaders, Authorization })).toMatchObject(json)
  })
})
