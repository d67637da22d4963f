import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browserStartMs, openTab, type Site, startBrowser, startSite } from '../pages/browser.ts'
import { type Checks, checks, codeAt, wrongCode } from './authenticator.ts'

describe('the verification page in a browser', () => {
  let browser: Browser
  let site: Site
  let us: Checks

  beforeAll(async () => {
    browser = await startBrowser()
    site = await startSite()
    us = await checks(site.world)
  }, browserStartMs)
  afterAll(async () => {
    await browser?.close()
    await site?.close()
  })

  test.each(['light', 'dark'] as const)('by keyboard at 320 px, %s', async (colorScheme) => {
    const user = await us.approver()
    const url = site.listener.url + new URL(await user.challenge()).pathname
    const context = await browser.newContext({ colorScheme, viewport: { width: 320, height: 640 } })
    const { page, complaints } = await openTab(context, url)
    const secret = (await page.locator('code').first().textContent()) ?? ''
    const fits = () => page.evaluate('document.documentElement.scrollWidth <= 320')
    expect(await fits()).toBe(true)

    await page.keyboard.press('Tab')
    await page.keyboard.type(wrongCode(secret, site.world.system.now()))
    await page.keyboard.press('Enter')
    await page.waitForSelector('[aria-invalid=true]')
    const field = page.getByRole('textbox', { name: '6-digit code' })
    expect(await page.title()).toMatch(/^Error: /)
    // Whoever does not see the page hears the problem with the field, which has the focus.
    expect(await page.evaluate('document.activeElement.id')).toBe('code')
    expect(await page.locator(`#${await field.getAttribute('aria-describedby')}`).textContent()).toContain('not right')
    expect(await fits()).toBe(true)

    await page.keyboard.type(codeAt(secret, site.world.system.now()))
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Verified' }).waitFor()
    expect(await page.getByRole('status').textContent()).toContain('You can approve again now.')
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([])
    expect((await user.approve((await us.review(50_001)).approvalId)).status).toBe(200)
    await context.close()
  })
})
