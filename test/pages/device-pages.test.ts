import { expect, test } from 'vitest'
import { devicePages } from '../../src/service/pages/consent/device-view.ts'

const form = { action: '/oauth/device', token: 'token-1' }
const hostile = `<script>\u202e"'&`.padEnd(2000, 'n')

test('the first page asks for the code and shows no error', () => {
  const page = devicePages.enterCode(form, undefined, undefined)
  expect(page).toMatch(/^<!doctype html>/)
  expect(page).toContain('<form method="post" action="/oauth/device" novalidate>')
  expect(page).toContain('<input type="hidden" name="xsrf" value="token-1">')
  expect(page).toContain('name="user_code"')
  expect(page).not.toMatch(/role="(alert|status)"|aria-invalid|<script/)
})

test.each([
  ['NoCodeError', 'alert', 'Enter the code'],
  ['NotFoundError', 'alert', 'There is no such code'],
  ['ExpiredError', 'alert', 'has expired'],
  ['AlreadyUsedError', 'alert', 'was used already'],
  ['AbortedError', 'status', 'Stopped.'],
  ['AccessDenied', 'status', 'Denied.'],
  ['InvalidRequest', 'alert', 'out of date'],
  ['constructor', 'alert', 'out of date'],
  [hostile, 'alert', 'out of date'],
])('the page asks for the code again and says why: %s', (name, role, words) => {
  const page = devicePages.enterCode(form, name, undefined)
  expect(page).toMatch(new RegExp(`id="problem" role="${role}">[^<]*${words}`))
  expect(page).toContain('name="user_code"')
})

test('the second page asks whether the code comes from the person’s own device', () => {
  const page = devicePages.confirmCode(form, { name: hostile }, 'BCDF-GHJK')
  expect(page).toContain('<input type="hidden" name="xsrf" value="token-1">')
  expect(page).toContain('<input type="hidden" name="user_code" value="BCDF-GHJK">')
  expect(page).toMatch(/<button type="submit" name="confirm" value="yes"[^>]*>Continue</)
  expect(page).toMatch(/<button type="submit" name="abort" value="yes"[^>]*>Stop</)
  expect(page).toContain('Continue only if you started this yourself')
})

test.each([
  ['confirmCode', devicePages.confirmCode(form, { name: hostile }, hostile)],
  ['done', devicePages.done({ name: hostile })],
  ['failed', devicePages.failed({ code: hostile, description: hostile })],
  ['enterCode', devicePages.enterCode({ action: hostile, token: hostile }, hostile, hostile)],
])('the page %s escapes HTML in foreign text', (_, page) => {
  expect(page).not.toContain('<script')
  expect(page).toContain('&lt;script&gt;')
})

test('the last page confirms the connection, and links to the page where the person can end it', () => {
  const page = devicePages.done({ name: 'Watch' })
  expect(page).toContain('<p role="status"><bdi>Watch</bdi> is connected.')
  expect(page).toContain('href="/connections"')
  expect(devicePages.done({ name: ' ' })).toContain('<bdi>an application without a name</bdi> is connected.')
})

test.each([
  ['invalid_redirect_uri', 'redirect address is not registered'],
  ['invalid_client', 'does not know the application'],
  ['something_new', 'a request that can’t be answered'],
  ['toString', 'a request that can’t be answered'],
])('the error page explains what went wrong: %s', (code, words) => {
  const page = devicePages.failed({ code, description: 'redirect_uri is <odd>' })
  expect(page).toContain(words)
  expect(page).toContain(`<code>${code}</code> (<bdi>redirect_uri is &lt;odd&gt;</bdi>)`)
})

test('the pages cannot be framed, and load only style sheets and images of this site', () => {
  expect(devicePages.headers).toMatchObject({ 'X-Frame-Options': 'DENY', 'Cache-Control': 'no-store' })
  expect(devicePages.headers['Content-Security-Policy']).toBe(
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  )
})
