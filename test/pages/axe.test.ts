import { afterAll, beforeAll, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { doorGrounds, type Grounds } from '../adversary/doors.ts'
import { sqlite } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { axeLooks, axeViolations } from './axe.ts'
import { shoot, startBrowser, type TestBrowser } from './browser.ts'
import { type GetRoute, pagePaths } from './page-paths.ts'

let grounds: Grounds
let browser: TestBrowser
let listener: Listener
/** The paths of the pages to check. Each key is a route, or a name if the page is not in `page-needs.ts`. */
let paths: Record<string, string>

/** Routes that return no complete page: a redirect, an event stream, and the form that the checkout embeds. */
const skipped: readonly GetRoute[] = ['GET /console/requests/:id', 'GET /console/stream', 'GET /checkout/form']
/** Routes that the test opens without a session. */
const signedOutRoutes: readonly string[] = ['GET /sign-in', 'GET /sign-in/once/:code']

beforeAll(async () => {
  grounds = await doorGrounds(sqlite)
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const { fetch } = grounds.site.world.service
  listener = await listen({ fetch, host: '127.0.0.1', port: await freePort(), system: realSystem, log })
  browser = await startBrowser()
  const listed = Object.entries(await pagePaths(grounds)).filter(([route]) => !skipped.includes(route as GetRoute))
  paths = {
    ...Object.fromEntries(listed),
    'the API reference': '/docs',
    'an operation in the API reference': '/docs/createPayment',
    'the device sign-in': '/oauth/device',
    'an unknown address': '/no-such-page',
    'a claim link with an unknown token': '/claim/made-up',
  }
})
afterAll(async () => {
  await browser.close()
  await listener.close()
  await grounds.site.world.drop()
})

test.each(axeLooks)('no page violates a rule of axe or scrolls sideways: $name', async ({ name, options }) => {
  const problems: string[] = []
  const [owner, visitor] = [await browser.newContext(options), await browser.newContext(options)]
  const session = await grounds.site.sessionOf(grounds.site.owner)
  await owner.addCookies([{ name: 'payments_session', value: session, url: listener.url }])
  for (const [route, path] of Object.entries(paths)) {
    const page = await (signedOutRoutes.includes(route) ? visitor : owner).newPage()
    await page.goto(listener.url + path, { waitUntil: 'load' })
    const violations = await axeViolations(page)
    problems.push(...violations.map((text) => `${route}: ${text}`))
    const overflow = (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number
    if (overflow > 0) problems.push(`${route}: scrolls sideways by ${overflow} pixels`)
    await shoot(page, `${name} ${route.replaceAll(/[^\w]+/g, '-')}`)
    await page.close()
  }
  expect(problems).toEqual([])
})
