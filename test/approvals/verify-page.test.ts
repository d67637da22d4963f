import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newChallenge } from '../../src/service/tokens/mfa-challenges.ts'
import { expectRefusal } from '../request/refusals.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type ApprovalWorld, codeAt, createApprovalWorld, origin, secretIn } from './authenticator.ts'

describe('the verification page', () => {
  let world: World
  let us: ApprovalWorld

  beforeAll(async () => {
    world = await createWorld(sqlite)
    us = await createApprovalWorld(world)
  })
  afterAll(() => world.drop())

  test('the page’s headers forbid scripts, frames, and forms that post to other sites', async () => {
    const { headers, text } = await us.open(await (await us.approver()).challenge())
    const policy = headers.get('content-security-policy')
    for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"]) {
      expect(policy).toContain(rule)
    }
    expect(policy).not.toContain('unsafe')
    expect(policy).not.toContain('script-src')
    expect(text).not.toMatch(/<script|style=|\son\w+=/)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('same-origin')
    expect(headers.get('x-frame-options')).toBe('DENY')
    const style = await world.service.fetch(new Request(`${origin}/styles/parts.css`))
    expect([style.status, style.headers.get('content-type')]).toStrictEqual([200, 'text/css; charset=utf-8'])
  })

  test.each<[string, Record<string, string>]>([
    ['another site', { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }],
    ['another site that claims the same origin', { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'same-origin' }],
    ['an opaque origin', { Origin: 'null', 'Sec-Fetch-Site': 'same-origin' }],
    ['a sibling domain', { Origin: origin, 'Sec-Fetch-Site': 'same-site' }],
    ['a client that sends neither Origin nor Sec-Fetch-Site', {}],
  ])('a form from %s is refused', async (_, headers) => {
    const user = await us.approver()
    const url = await user.challenge()
    const code = codeAt(await us.secretAt(url), world.system.now())
    expect((await us.submit(url, code, headers)).status).toBe(403)
    expectRefusal(await user.approve((await us.review(50_001)).approvalId), 'mfa_required')
    // The refused form did not use up the code.
    expect((await us.submit(url, code)).status).toBe(303)
  })

  test('a JSON body and an oversized form are refused', async () => {
    const url = await (await us.approver()).challenge()
    const sameOriginHeaders = { Origin: origin, 'Sec-Fetch-Site': 'same-origin' }
    expect((await us.submit(url, '123456', { ...sameOriginHeaders, 'Content-Type': 'application/json' })).status).toBe(
      400,
    )
    expect((await us.submit(url, '1'.repeat(5000))).status).toBe(400)
  })

  test('a user can also set up an authenticator app in production', async () => {
    const production = await createWorld(sqlite, { environment: 'production' })
    try {
      const { system, store } = production
      const inProduction = await createApprovalWorld(production)
      const { userId } = await inProduction.newcomer()
      const page = `${origin}/second-factor`
      const shown = await inProduction.send(page, { step: 'begin' }, { userId })
      expect(shown.text).toContain('otpauth://totp/Payments:')
      expect(shown.text).not.toContain('Sandbox')
      const secret = secretIn(shown)
      expect((await inProduction.send(page, { code: codeAt(secret, system.now()) }, { userId })).status).toBe(303)
      system.pass(30_000)
      // Normally, a refused approval creates the challenge. This test creates the challenge directly.
      const challenge = await store.transaction((tx) => newChallenge(tx, system, userId, system.now()))
      const url = `${origin}/verify/${challenge}`
      const { status, text } = await inProduction.open(url)
      expect(status).toBe(200)
      expect(text).toContain('6-digit code')
      expect(text).not.toMatch(/otpauth|base32|Sandbox|[A-Z2-7]{32}/)
      expect((await inProduction.submit(url, codeAt(secret, system.now()))).status).toBe(303)
    } finally {
      await production.drop()
    }
  })
})
