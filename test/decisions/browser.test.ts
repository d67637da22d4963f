import { afterAll, beforeAll, expect, test } from 'vitest'
import { LoopbackDecisions } from '../../src/commands/loopback-decisions.ts'
import { servedDecisions } from '../../src/commands/served-decisions.ts'
import type { HeldCall } from '../../src/core/held-call.ts'
import { realSystem } from '../../src/core/system.ts'
import { NamedTurns } from '../../src/core/turns.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { arrive, shoot, startBrowser, type TestBrowser } from '../pages/browser.ts'
import { expectContrast } from '../pages/contrast.ts'
import { payer } from '../payments/payer.ts'
import { sqlite } from '../support/databases.ts'
import { createDecisionWorld, type DecisionWorld } from './deciding.ts'

let on: DecisionWorld
let browser: TestBrowser
let listener: Listener
const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

beforeAll(async () => {
  on = await createDecisionWorld(sqlite)
  listener = await listen({
    fetch: (request, caller) => on.world.service.fetch(request, caller),
    host: '127.0.0.1',
    port: 0,
    system: realSystem,
    log: log as never,
  })
  browser = await startBrowser()
})
afterAll(async () => {
  await browser.close()
  await listener.close()
  await on.world.drop()
})

const call: HeldCall = {
  tool: 'create_payment',
  arguments: { amount: 4_200 },
  fingerprint: 'one',
  facts: [
    'Pay $42.00',
    'To: party_id “pty_019bc186de002f5c36ed794f639044eb”',
    `Reason, in the assistant's words: “${'W'.repeat(80)}”`,
  ],
  effect: 'The money moves at once, or after an approval if it exceeds a limit.',
  approveLabel: 'Yes, pay $42.00',
  spends: true,
  host: 'A desktop host',
}

const screens = [
  { colorScheme: 'light', viewport: { width: 1000, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 320, height: 640 } },
] as const

test.each(screens)(
  'a person signs in with a password and approves a call by keyboard, without JavaScript, in $colorScheme mode',
  async (screen) => {
    const { world, site } = on
    const { owner } = site
    const { agentId, keyId, partyId } = await world.whoami()
    await payer(world).setLimits('agents', String(agentId), { perTransaction: 10_000, perDay: 60_000 })
    const { password } = await world.service.seedPassword('a password of the owner')
    const decisions = servedDecisions({
      store: world.store,
      system: world.system,
      publicUrl: () => listener.url,
      waits: world.service.waits,
      owner: { partyId, principalId: keyId },
      turns: new NamedTurns(),
    })
    const decision = await decisions.keep(call, 'person')
    if ('refused' in decision) throw new Error(decision.refused)
    const context = await browser.newContext({ ...screen, javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(decision.url)
    await page.getByLabel('Email').fill(owner.email)
    await page.getByLabel('Password').fill(String(password))
    await page.keyboard.press('Enter')
    await arrive(page, 'Approve this?')
    await expectContrast(page)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    await shoot(page, `decide-${screen.colorScheme}`)
    await page.goto(`${listener.url}/decisions`)
    await arrive(page, 'Pending decisions')
    await expectContrast(page)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    await shoot(page, `decisions-${screen.colorScheme}`)
    await page.getByRole('button', { name: 'Yes, pay $42.00' }).focus()
    await page.keyboard.press('Enter')
    await arrive(page, 'Approved')
    await shoot(page, `decided-${screen.colorScheme}`)
    expect((await decisions.find(decision.id))?.state).toBe('yes')
  },
)

test('over stdio, a person can decide only in the window that the server opened', async () => {
  const context = await browser.newContext({ colorScheme: 'dark', viewport: { width: 320, height: 640 } })
  const page = await context.newPage()
  const decisions = new LoopbackDecisions({
    environment: 'sandbox',
    elsewhere: 'run payments-mcp serve',
    limits: async () => [],
    open: async (address) => {
      await page.goto(address.href)
      return true
    },
    system: realSystem,
    log: log as never,
  })
  const decision = await decisions.keep(call, 'person')
  if ('refused' in decision) throw new Error(decision.refused)
  await arrive(page, 'Approve this?')
  expect(page.url()).toContain(`${decision.url}/`)
  await expectContrast(page)
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  await shoot(page, 'decide-local')
  const other = await (await browser.newContext()).newPage()
  await other.goto(decision.url)
  await other.getByText('This address only shows the question').waitFor()
  await shoot(other, 'decide-local-elsewhere')
  await expect.poll(() => other.getByRole('button').count()).toBe(0)
  await page.getByRole('button', { name: 'Yes, pay $42.00' }).click()
  await arrive(page, 'Approved')
  expect((await decisions.find(decision.id))?.state).toBe('yes')
  await decisions.close()
})
