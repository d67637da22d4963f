import { afterAll, beforeAll, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { doorGrounds, type Grounds } from '../adversary/doors.ts'
import { sqlite } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { axeLooks, axeViolations } from './axe.ts'
import { shoot, startBrowser, type TestBrowser } from './browser.ts'
import { type GetRoute, pagePaths } from './page-paths.ts'

let on: Grounds
let browser: TestBrowser
let listener: Listener
/** The addresses of the pages: those that `page-needs.ts` lists, and those that need no signed-in person. */
let paths: Record<string, string>

/** Routes without a whole page: a redirect to an entry, a stream of changes, and the form in the checkout's page. */
const withoutPage: readonly GetRoute[] = ['GET /console/requests/:id', 'GET /console/stream', 'GET /checkout/form']
/** The pages of a person who is not signed in. */
const ofVisitors: readonly string[] = ['GET /sign-in', 'GET /sign-in/once/:code']

beforeAll(async () => {
  on = await doorGrounds(sqlite)
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const { fetch } = on.site.world.service
  listener = await listen({ fetch, host: '127.0.0.1', port: await freePort(), system: realSystem, log })
  browser = await startBrowser()
  const listed = Object.entries(await pagePaths(on)).filter(([route]) => !withoutPage.includes(route as GetRoute))
  paths = {
    ...Object.fromEntries(listed),
    'the API reference': '/docs',
    'an operation in the API reference': '/docs/createPayment',
    'the code of a device': '/oauth/device',
    'an unknown address': '/no-such-page',
    'a link of nobody': '/claim/made-up',
  }
})
afterAll(async () => {
  await browser.close()
  await listener.close()
  await on.site.world.drop()
})

test.each(axeLooks)('axe finds no fault on any page: $name', async ({ name, options }) => {
  const found: string[] = []
  const [owner, visitor] = [await browser.newContext(options), await browser.newContext(options)]
  const session = await on.site.sessionOf(on.site.owner)
  await owner.addCookies([{ name: 'payments_session', value: session, url: listener.url }])
  for (const [route, path] of Object.entries(paths)) {
    const page = await (ofVisitors.includes(route) ? visitor : owner).newPage()
    await page.goto(listener.url + path, { waitUntil: 'load' })
    const violations = await axeViolations(page)
    found.push(...violations.map((text) => `${route}: ${text}`))
    const sideways = (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number
    if (sideways > 0) found.push(`${route}: scrolls sideways by ${sideways}`)
    await shoot(page, `${name} ${route.replaceAll(/[^\w]+/g, '-')}`)
    await page.close()
  }
  expect(found).toEqual([])
})
