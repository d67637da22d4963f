import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  expectFocus,
  openTab,
  type Site,
  shoot,
  startBrowser,
  startSite,
  type TestBrowser,
  toContent,
} from '../pages/browser.ts'
import { expectContrast } from '../pages/contrast.ts'
import { type ApprovalWorld, codeAt, createApprovalWorld, wrongCode } from './authenticator.ts'

describe('the pages for the second factor, in a browser', () => {
  let browser: TestBrowser
  let site: Site
  let us: ApprovalWorld

  beforeAll(async () => {
    browser = await startBrowser()
    site = await startSite()
    us = await createApprovalWorld(site.world)
  })
  afterAll(async () => {
    await browser?.close()
    await site?.close()
  })

  test.each(['light', 'dark'] as const)('a code can be entered by keyboard at 320 px, %s mode', async (colorScheme) => {
    const user = await us.approver()
    const url = site.listener.url + new URL(await user.challenge()).pathname
    const context = await browser.newContext({ colorScheme, viewport: { width: 320, height: 640 } })
    const [name = '', value = ''] = (await us.cookieOf(user.userId)).split('=')
    await context.addCookies([{ name, value, url: site.listener.url }])
    const { page, complaints } = await openTab(context, url)
    const { secret } = user
    const fits = () => page.evaluate('document.documentElement.scrollWidth <= 320')
    await expect.poll(fits).toBe(true)

    await toContent(page)
    await page.keyboard.press('Tab')
    await page.keyboard.type(wrongCode(secret, site.world.system.now()))
    await page.keyboard.press('Enter')
    await page.waitForSelector('[aria-invalid=true]')
    const field = page.getByRole('textbox', { name: '6-digit code' })
    await expect.poll(() => page.title()).toMatch(/^Error: /)
    // A screen reader announces the focused field and the error message that the field refers to.
    await expectFocus(field)
    const problem = page.locator(`#${await field.getAttribute('aria-describedby')}`)
    await expect.poll(() => problem.textContent()).toContain('code is wrong')
    await expect.poll(fits).toBe(true)

    await page.keyboard.type(codeAt(secret, site.world.system.now()))
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Verified' }).waitFor()
    await expect.poll(() => page.getByRole('status').textContent()).toContain('You can approve again now.')
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([])
    expect((await user.approve((await us.review(50_001)).approvalId)).status).toBe(200)
    await context.close()
  })

  test.each(['light', 'dark'] as const)(
    'an authenticator app can be set up by keyboard at 320 px, %s mode',
    async (colorScheme) => {
      const { userId } = await us.newcomer()
      const context = await browser.newContext({ colorScheme, viewport: { width: 320, height: 640 } })
      const [name = '', value = ''] = (await us.cookieOf(userId)).split('=')
      await context.addCookies([{ name, value, url: site.listener.url }])
      const { page, complaints } = await openTab(context, `${site.listener.url}/second-factor`)
      const fits = async () => {
        await expectContrast(page)
        await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= 320')).toBe(true)
      }
      await fits()
      await toContent(page)
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.getByRole('img', { name: 'QR code of the address for the app' }).waitFor()
      await fits()
      await shoot(page, `second-factor-secret-${colorScheme}`)
      const secret = (await page.locator('code').first().textContent()) ?? ''
      await toContent(page)
      await page.keyboard.press('Tab')
      await page.keyboard.type(wrongCode(secret, site.world.system.now()))
      await page.keyboard.press('Enter')
      await page.waitForSelector('[aria-invalid=true]')
      expect(await page.getByRole('img').count()).toBe(0)
      await fits()
      await page.keyboard.type(codeAt(secret, site.world.system.now()))
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Your app is set up' }).waitFor()
      await shoot(page, `second-factor-done-${colorScheme}`)
      expect(complaints.filter((text) => !text.includes('422'))).toEqual([])
      await context.close()
    },
  )
})
