import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { readLimitFacts } from '../../src/commands/local-limits.ts'
import { LoopbackDecisions } from '../../src/commands/loopback-decisions.ts'
import { type Connected, connectHost, person } from '../mcp/connected.ts'
import { errorOf, hosts } from '../mcp/hosts.ts'
import { sqlite } from '../support/databases.ts'
import { always, createDecisionWorld, type DecisionWorld, pendingOf } from './deciding.ts'

const [earlier, , , pinned] = hosts

let on: DecisionWorld
let cleanups: (() => Promise<void>)[] = []
beforeAll(async () => {
  on = await createDecisionWorld(sqlite)
})
afterAll(() => on.world.drop())
afterEach(async () => {
  for (const cleanUp of cleanups.toReversed()) await cleanUp()
  cleanups = []
})

const logged: string[] = []
const line = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`)
const log = { debug: line, info: line, warn: line, error: line }

/**
 * Connects a host to an MCP server that opens decision pages, as the stdio server does. `opened` lists the URLs of the
 * opened pages.
 */
async function connectLocalServer(
  chosen: (typeof hosts)[number] = pinned,
  { canOpen = true, ...options }: Partial<Parameters<typeof connectHost>[2]> & { canOpen?: boolean } = {},
) {
  const opened: URL[] = []
  const client = createClient({
    ...{
      baseUrl: 'http://sandbox.test',
      credential: () => on.world.agentKey,
      instanceId: 'run',
      system: on.world.system,
    },
    fetch: (request) => on.world.service.fetch(request),
  })
  const decisions = new LoopbackDecisions({
    environment: 'sandbox',
    elsewhere: 'run payments-mcp serve',
    open: async (address) => {
      opened.push(address)
      return canOpen
    },
    limits: async (call) => readLimitFacts(client.call, call),
    system: on.world.system,
    log: log as never,
  })
  const connection: Connected = await connectHost(on.world, chosen.open, { confirm: always, decisions, ...options })
  cleanups.push(
    () => decisions.close(),
    () => connection.close(),
  )
  const pay = (amount: number, more: object = {}) =>
    connection.host.callTool('create_payment', { ...on.payment(amount), ...more })
  return { ...connection, opened, pay }
}

/**
 * Creates a simulated browser that follows redirects. Like a real browser, it sends a cookie to every port of the host,
 * but only if the requested path lies within the path of the cookie. `decide` submits the form of a page.
 */
function createBrowser() {
  const cookies: { path: string; pair: string }[] = []
  const cookieFor = (url: string | URL) => {
    const { pathname } = new URL(url)
    const isFor = ({ path }: { path: string }) => pathname === path || pathname.startsWith(`${path}/`)
    return cookies.filter(isFor).map(({ pair }) => pair)[0] ?? ''
  }
  const ask = async (
    url: string | URL,
    init: RequestInit = {},
  ): Promise<{ status: number; text: string; url: string }> => {
    const headers = { Cookie: cookieFor(url), ...init.headers }
    const answer = await fetch(url, { redirect: 'manual', ...init, headers })
    const text = await answer.text()
    for (const line of answer.headers.getSetCookie()) {
      cookies.unshift({ pair: line.split(';')[0] ?? '', path: /; Path=([^;]+)/.exec(line)?.[1] ?? '/' })
    }
    const to = answer.headers.get('location')
    if (to !== null) return ask(new URL(to, url))
    return { status: answer.status, text, url: String(url) }
  }
  return {
    ask,
    cookieFor,
    decide: async (url: string | URL, decision: string) => {
      const { text } = await ask(url)
      const formToken = /name="formToken" value="([^"]+)"/.exec(text)?.[1] ?? ''
      const sameOriginHeaders = { Origin: new URL(url).origin, 'Sec-Fetch-Site': 'same-origin' }
      return ask(url, {
        method: 'POST',
        body: new URLSearchParams({ formToken, decision }),
        headers: sameOriginHeaders,
      })
    },
  }
}

test.each([earlier, pinned])(
  'the server opens the decision page, and a call approved there is carried out once, for $host',
  async (chosen) => {
    const before = await on.shopBalance()
    const { host, opened, pay, sent } = await connectLocalServer(chosen)
    const { decision, url, next } = pendingOf(await pay(4_200))
    expect(next).toContain("A window was opened in the person's browser")
    expect(pendingOf(await pay(4_200)).decision).toBe(decision)
    expect(opened).toHaveLength(1)
    const ticket = String(opened[0]).slice(url.length + 1)
    expect(ticket).toMatch(/^[\w-]{43}$/)
    const { ask, decide } = createBrowser()
    const page = await ask(String(opened[0]))
    expect(page.status).toBe(200)
    for (const words of [
      'Approve this?',
      'An AI assistant on this computer',
      'test-host',
      'The money moves',
      'In the wallet now',
      'value="yes"',
    ]) {
      expect(page.text).toContain(words)
    }
    expect((await decide(String(opened[0]), 'yes')).text).toContain('Your assistant can do this until')
    const [paid, again] = await Promise.all([1, 2].map(() => host.callTool('create_payment', { decision })))
    expect(paid?.structuredContent?.data.id).toBe(again?.structuredContent?.data.id)
    const later = await host.callTool('create_payment', { decision })
    expect(later.structuredContent).toMatchObject({ data: { id: paid?.structuredContent?.data.id }, replayed: true })
    expect(await on.shopBalance()).toBe(before + 4_200)
    expect(
      new Set(sent.filter(({ line: request }) => request === 'POST /payments').map((one) => one.idempotencyKey)).size,
    ).toBe(1)
  },
)

test('a decision needs the ticket that the browser gets; the ticket works once, and the model never sees it', async () => {
  const before = await on.shopBalance()
  const { host, opened, pay } = await connectLocalServer()
  const result = await pay(600)
  const { url, decision } = pendingOf(result)
  const ticket = String(opened[0]).slice(url.length + 1)
  expect(JSON.stringify(result)).not.toContain(ticket)
  const sameOriginHeaders = { Origin: new URL(url).origin, 'Sec-Fetch-Site': 'same-origin' }
  const thief = createBrowser()
  expect((await thief.ask(url)).text).toContain('This address only shows the question')
  for (const guess of [decision, 'A'.repeat(43), '', '..', `${ticket.slice(0, -1)}_`])
    await thief.ask(`${url}/${guess}`)
  for (const headers of [
    {},
    sameOriginHeaders,
    { Origin: 'https://evil.example' },
    { ...sameOriginHeaders, Cookie: `payments_decision=${decision}` },
  ]) {
    for (const formToken of ['', decision, 'f'.repeat(64)]) {
      for (const to of [url, `${url}/`, `${url}/yes`, `${url}?decision=yes`]) {
        const body = new URLSearchParams({ decision: 'yes', formToken })
        expect((await thief.ask(to, { method: 'POST', body, headers })).status).toBeGreaterThanOrEqual(400)
      }
    }
  }
  expect((await fetch(url, { headers: { Origin: 'https://evil.example' } })).status).toBe(403)
  expect((await thief.decide(url, 'no')).status).toBe(403)
  expect(pendingOf(await host.callTool('create_payment', { decision })).decision).toBe(decision)
  const { ask, decide, cookieFor } = createBrowser()
  expect((await ask(String(opened[0]))).text).toContain('value="yes"')
  expect((await thief.ask(String(opened[0]))).text).not.toContain('value="yes"')
  expect((await thief.decide(url, 'yes')).status).toBe(403)
  expect((await thief.decide(String(opened[0]), 'yes')).status).toBe(403)
  // A program on another port of this machine gets no cookie, because the cookie's path contains the ticket.
  const exposed = cookieFor('http://127.0.0.1:1/') + cookieFor(new URL(new URL(url).pathname, 'http://127.0.0.1:1'))
  expect(exposed).toBe('')
  expect(cookieFor(String(opened[0]))).not.toBe('')
  // The address without the ticket accepts no decision, even from the browser that used the ticket.
  expect((await decide(url, 'yes')).status).toBe(403)
  expect((await ask(String(opened[0]))).text).toContain('value="yes"')
  expect((await decide(String(opened[0]), 'no')).text).toContain('Nothing was done')
  expect(errorOf(await host.callTool('create_payment', { decision })).code).toBe('confirmation_declined')
  expect(await on.shopBalance()).toBe(before)
  for (const text of logged) expect(text).not.toContain(ticket)
})

test('if no browser can be opened, the call is refused, and the error lists other ways to decide', async () => {
  const { pay } = await connectLocalServer(pinned, { canOpen: false })
  const error = errorOf(await pay(600))
  expect(error).toMatchObject({
    code: 'confirmation_unavailable',
    next: expect.stringContaining('No browser could be opened'),
  })
  for (const words of ['payments-mcp serve', 'elicitation', 'PAYMENTS_CONFIRM']) expect(error.next).toContain(words)
})

test('if the host can open pages, it opens the decision page, and the server opens none', async () => {
  const { decide } = createBrowser()
  const who = person([
    async ({ url = '' }) => {
      await decide(url, 'yes')
      return { action: 'accept' }
    },
  ])
  const before = await on.shopBalance()
  const { pay, opened } = await connectLocalServer(pinned, { person: who })
  expect((await pay(700)).isError).not.toBe(true)
  expect(opened).toEqual([])
  expect(await on.shopBalance()).toBe(before + 700)
})

test('a pending decision expires after ten minutes, and is unknown to a restarted server', async () => {
  const { host, opened, pay } = await connectLocalServer()
  const { decision } = pendingOf(await pay(800))
  on.world.system.pass(600_001)
  const { ask } = createBrowser()
  expect((await ask(String(opened[0]))).text).toContain('This request has expired')
  expect(errorOf(await host.callTool('create_payment', { decision })).code).toBe('confirmation_ended')
  const again = await connectLocalServer()
  const unknown = errorOf(await again.host.callTool('create_payment', { decision }))
  expect(unknown).toMatchObject({
    code: 'confirmation_unknown',
    next: expect.stringContaining('call again without decision'),
  })
})

test('the window of a decision links to other pending decisions; no other browser sees the links', async () => {
  const before = await on.shopBalance()
  const { opened, pay, host } = await connectLocalServer()
  const [first, second] = [pendingOf(await pay(910)), pendingOf(await pay(920))]
  const { ask, decide } = createBrowser()
  const page = await ask(String(opened[0]))
  expect(page.text).toContain('Other pending decisions')
  const link = new URL(/<li><a href="([^"]+)">Pay \$9\.20/.exec(page.text)?.[1] ?? '', first.url)
  expect(link.href).toBe(String(opened[1]))
  for (const url of [first.url, second.url])
    expect((await createBrowser().ask(url)).text).not.toContain('Other pending decisions')
  expect((await decide(link, 'yes')).text).toContain('Approved')
  expect((await host.callTool('create_payment', { decision: second.decision })).isError).not.toBe(true)
  expect((await ask(String(opened[0]))).text).not.toContain('Other pending decisions')
  expect(await on.shopBalance()).toBe(before + 920)
})
