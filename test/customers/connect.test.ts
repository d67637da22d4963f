import { afterAll, beforeAll, expect, test } from 'vitest'
import { delegable } from '../../src/core/permissions.ts'
import { permissionWords } from '../../src/service/pages/connect/words.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Inviters, inviters } from './world.ts'

const origin = 'http://127.0.0.1:4010'

onEachDatabase('the connect page', (database) => {
  let world: World
  let us: Inviters

  beforeAll(async () => {
    world = await createWorld(database)
    us = await inviters(world)
  })
  afterAll(() => world.drop())

  async function open(url: string) {
    const response = await world.service.fetch(new Request(url))
    const text = await response.text()
    return { response, text, formToken: /name="formToken" value="([0-9a-f]+)"/.exec(text)?.[1] ?? '' }
  }

  async function submit(url: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
    const body = new URLSearchParams(fields)
    const sent = { Origin: origin, 'Sec-Fetch-Site': 'same-origin', ...headers }
    return world.service.fetch(new Request(url, { method: 'POST', body, headers: sent }))
  }

  test('the page shows the agent, permissions, limits and expiry time, and escapes all strings', async () => {
    const { url } = await us.pending({ permissions: delegable, limits: { perTransaction: 12345 } })
    const { response, text } = await open(url)
    expect(response.status).toBe(200)
    expect(text).toContain('Sandbox Organization')
    expect(text).toContain('Sandbox shopper')
    expect(text).toContain('$123.45')
    for (const words of Object.values(permissionWords)) expect(text).toContain(words)
    expect(text).toContain('Answer by')
    const message = '<script>alert(1)</script>"&'
    const invitation = await world.post(
      '/customers/invitations',
      {
        recipients: [{ type: 'email', value: "o'hara@example.com" }],
        agents: [{ agentId: us.agentId, permissions: ['cards.read'] }],
        message,
      },
      { key: world.apiKey },
    )
    const escaped = (await open(invitation.json.data[0].attributes.url)).text
    expect(escaped).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;')
    expect(escaped).not.toContain('<script')
    expect(escaped).toContain('o&#39;hara@example.com')
  })

  test('the page has headers that forbid scripts, framing, and forms that submit to other sites', async () => {
    const { response } = await open((await us.pending()).url)
    const policy = response.headers.get('content-security-policy')
    for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"]) {
      expect(policy).toContain(rule)
    }
    expect(policy).not.toContain('unsafe')
    expect(policy).not.toContain('script-src')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('referrer-policy')).toBe('same-origin')
    expect(response.headers.get('x-frame-options')).toBe('DENY')
    const style = await world.service.fetch(new Request(`${origin}/styles/parts.css`))
    expect([style.status, style.headers.get('content-type')]).toStrictEqual([200, 'text/css; charset=utf-8'])
  })

  test.each([
    ['accept', 'ACCEPTED', 'Connected'],
    ['decline', 'DECLINED', 'Declined'],
  ])('the decision "%s" makes the invitation %s, and the page says "%s"', async (decision, status, heading) => {
    const { id, url } = await us.pending()
    const { formToken } = await open(url)
    const answer = await submit(url, { formToken, decision })
    expect([answer.status, answer.headers.get('location')]).toStrictEqual([303, new URL(url).pathname])
    expect(await us.read(id)).toMatchObject({ status })
    const again = await open(url)
    expect(again.text).toContain(`<h1>${heading}</h1>`)
    expect(again.text).not.toContain('<form')
  })

  test('a second submission changes nothing and redirects without an error', async () => {
    const { id, url } = await us.pending()
    const { formToken } = await open(url)
    const answers = await Promise.all(
      ['accept', 'accept', 'decline'].map((decision) => submit(url, { formToken, decision })),
    )
    expect(answers.map(({ status }) => status)).toStrictEqual([303, 303, 303])
    const { status, updatedAtMs } = await us.read(id)
    expect(['ACCEPTED', 'DECLINED']).toContain(status)
    world.system.pass(1000)
    expect((await submit(url, { formToken, decision: 'decline' })).status).toBe(303)
    expect(await us.read(id)).toMatchObject({ status, updatedAtMs })
  })

  test.each<[string, Record<string, string>]>([
    ['another site', { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }],
    ['another site according to its Origin', { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'same-origin' }],
    ['an opaque origin', { Origin: 'null', 'Sec-Fetch-Site': 'same-origin' }],
    ['another subdomain of the site', { Origin: origin, 'Sec-Fetch-Site': 'same-site' }],
  ])('a form from %s is refused', async (_, headers) => {
    const { id, url } = await us.pending()
    const { formToken } = await open(url)
    expect((await submit(url, { formToken, decision: 'accept' }, headers)).status).toBe(403)
    expect(await us.read(id)).toMatchObject({ status: 'PENDING' })
  })

  test('a form without Origin and Sec-Fetch-Site is refused', async () => {
    const { url } = await us.pending()
    const { formToken } = await open(url)
    const body = new URLSearchParams({ formToken, decision: 'accept' })
    expect((await world.service.fetch(new Request(url, { method: 'POST', body }))).status).toBe(403)
  })

  test('a form is refused with a missing or wrong token, and with the token of another invitation', async () => {
    const [mine, other] = [await us.pending(), await us.pending()]
    const { formToken } = await open(other.url)
    for (const token of [formToken, '', 'x'.repeat(64)]) {
      expect((await submit(mine.url, { formToken: token, decision: 'accept' })).status).toBe(403)
    }
    expect(await us.read(mine.id)).toMatchObject({ status: 'PENDING' })
  })

  test('a form without a decision, a form that is too long, and JSON are refused', async () => {
    const { url } = await us.pending()
    const { formToken } = await open(url)
    expect((await submit(url, { formToken })).status).toBe(400)
    expect((await submit(url, { formToken, decision: 'x'.repeat(5000) })).status).toBe(400)
    const json = { 'Content-Type': 'application/json' }
    expect((await submit(url, { formToken, decision: 'accept' }, json)).status).toBe(400)
  })

  test.each([
    ['revoked', 'No longer open'],
    ['expired', 'Expired'],
    ['superseded by an accepted invitation', 'Already connected'],
  ])('an invitation that is %s can no longer be accepted', async (how, heading) => {
    const recipient = { type: 'email', value: `${how.replaceAll(' ', '')}@example.com` } as const
    const { id, url } = await us.pending({ recipient })
    const { formToken } = await open(url)
    if (how === 'revoked') await world.send('DELETE', `/customers/invitations/${id}`, { key: world.apiKey })
    if (how === 'expired') world.system.pass(30 * 24 * 60 * 60 * 1000)
    if (how === 'superseded by an accepted invitation') {
      const other = await us.pending({ recipient })
      await submit(other.url, { formToken: (await open(other.url)).formToken, decision: 'accept' })
    }
    expect((await submit(url, { formToken, decision: 'accept' })).status).toBe(303)
    const { response, text } = await open(url)
    expect(response.status).toBe(200)
    expect(text).toContain(`<h1>${heading}</h1>`)
    expect(text).not.toContain('<form')
    const { json } = await world.get('/customers?limit=100', { key: world.apiKey })
    const connected = json.data.filter(
      (one: { attributes: { email: string } }) => one.attributes.email === recipient.value,
    )
    expect(connected).toHaveLength(how === 'superseded by an accepted invitation' ? 1 : 0)
  })

  test('a visitor from another machine sees no form and cannot accept the invitation', async () => {
    const { id, url } = await us.pending()
    const elsewhere = url.replace('127.0.0.1:4010', 'payments.example')
    const { response, text } = await open(elsewhere)
    expect([response.status, text.includes('<form')]).toStrictEqual([200, false])
    const { formToken } = await open(url)
    const headers = { Origin: 'http://payments.example' }
    expect((await submit(elsewhere, { formToken, decision: 'accept' }, headers)).status).toBe(403)
    expect(await us.read(id)).toMatchObject({ status: 'PENDING' })
  })

  test.each(['0'.repeat(64), 'adi_1', '..%2f', '%00'])('the address /connect/%s does not exist', async (token) => {
    const { response, text } = await open(`${origin}/connect/${token}`)
    expect(response.status).toBe(404)
    expect(text).toContain('There is no invitation at this address')
    const posted = await submit(`${origin}/connect/${token}`, { formToken: 'a', decision: 'accept' })
    expect(posted.status).toBe(404)
  })
})
