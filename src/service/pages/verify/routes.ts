import type { Context, Hono } from 'hono'
import { foreignName } from '../../../core/foreign-text.ts'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { notYoursPage } from '../frame/account.ts'
import { hasFormToken, type Show, type Take } from '../frame/answers.ts'
import { proveSession } from '../frame/browser-session.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { failurePageWrapper } from '../frame/failure.ts'
import { messagePage } from '../frame/form-page.ts'
import { isForm, isOwnForm } from '../frame/forms.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import { redirect } from '../frame/link-routes.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { type CodeResult, createSecondFactor, type SecondFactor, type Verification } from './second-factor.ts'
import { enrollmentPage, verifyPage } from './view.ts'
import { codeProblem, verifyWords } from './words.ts'

interface VerifyDependencies extends PageDependencies {
  secondFactor: SecondFactor
}

const withFailurePage = failurePageWrapper({ page: 'a verification page', headers })

/**
 * Mounts two pages: one where a user enters a code from their authenticator app, and one where a user sets up the app.
 * The API's 428 responses link to the first page.
 */
export function mountVerify(app: Hono, dependencies: PageDependencies): void {
  const pages = { ...dependencies, secondFactor: createSecondFactor(dependencies) }
  const refuse = (c: Context) => c.html(messagePage('Not verified', 'The form is too long.'), 400, headers)
  const serve = pageRoutes(app, pages, withFailurePage)
  // Knowing the URL is not enough: the user whose challenge is in the URL must be signed in.
  serve('GET /verify/:challenge', showCheck, { back: addressOf })
  serve('POST /verify/:challenge', ownForm(takeCode), { refuse, back: addressOf })
  serve('GET /second-factor', showEnrollment, { back: addressOf })
  serve('POST /second-factor', ownForm(takeEnrollment), { refuse, back: addressOf })
}

function ownForm(take: Take<VerifyDependencies>): Show<VerifyDependencies> {
  return async (c, pages, person) => {
    if (!isOwnForm(c, pages.publicUrl())) return refusalPage(c, 403, 'The code did not come from this page.')
    if (!isForm(c)) return refusalPage(c, 400, 'The code was not sent as a form.')
    const sent = new URLSearchParams(await c.req.text())
    if (!hasFormToken(person, c.req.path, sent)) return refusalPage(c, 403, 'The code did not come from this page.')
    return take(c, pages, person, sent)
  }
}

const showCheck: Show<VerifyDependencies> = async (c, pages, person) => {
  const verification = await pages.secondFactor.open(challengeOf(c), person.user)
  if (verification === undefined) return notFound(c, person)
  const isOver = verification.expired || verification.verifiedUntilMs !== null
  if (!isOver && !verification.isEnrolled) return redirect(c, `/second-factor?next=${encodeURIComponent(addressOf(c))}`)
  const status = verification.expired && verification.verifiedUntilMs === null ? 410 : 200
  return showVerification(c, person, verification, null, status)
}

const takeCode: Take<VerifyDependencies> = async (c, pages, person, sent) => {
  const checked = await pages.secondFactor.verify(challengeOf(c), person.user, sent.get('code') ?? '')
  if (checked === undefined) return notFound(c, person)
  const { result, after } = checked
  pages.log.info({ verdict: result.verdict }, 'a second factor was checked')
  if (result.verdict === 'accepted') {
    await proveSession(c, pages)
    return redirect(c, backOf(c) ?? c.req.path)
  }
  return showVerification(c, person, after, result, refusedStatus(c, result))
}

const showEnrollment: Show<VerifyDependencies> = async (c, pages, person) => {
  const enrollment = await pages.secondFactor.enrollment(person.user)
  return enrollment === 'enrolled' ? enrolledPage(c) : showApp(c, person, { begun: enrollment === 'begun' })
}

const takeEnrollment: Take<VerifyDependencies> = async (c, pages, person, sent) => {
  const { secondFactor, log } = pages
  if (sent.get('step') === 'begin') {
    const secret = await secondFactor.begin(person.user)
    return secret === undefined ? enrolledPage(c) : showApp(c, person, { begun: true, secret })
  }
  const result = await secondFactor.confirm(person.user, sent.get('code') ?? '')
  if (result === undefined) return redirect(c, addressOf(c))
  log.info({ verdict: result.verdict }, 'the first code of an authenticator app was checked')
  if (result.verdict === 'accepted') return redirect(c, nextOf(c) ?? c.req.path)
  return showApp(c, person, { begun: true, result })
}

const statuses = {
  challenge_expired: 410,
  malformed: 422,
  wrong: 422,
  expired: 422,
  used: 422,
  too_many: 429,
} as const satisfies Record<Exclude<CodeResult['verdict'], 'accepted'>, number>

function refusedStatus(c: Context, result: CodeResult) {
  if (result.verdict === 'accepted') throw new Error('Bug: refusedStatus got an accepted code.')
  if (result.verdict === 'too_many') c.header('Retry-After', String(result.retryAfterSeconds))
  return statuses[result.verdict]
}

function showVerification(
  c: Context,
  person: SignedIn,
  verification: Verification,
  result: CodeResult | null,
  status: 200 | 410 | 422 | 429,
) {
  return c.html(verifyPage(verifyWords(verification, result), formFor(c, person)), status, headers)
}

interface EnrollmentResult {
  begun: boolean
  secret?: Parameters<typeof enrollmentPage>[0]['secret']
  result?: CodeResult
}

function showApp(c: Context, person: SignedIn, { begun, secret = null, result }: EnrollmentResult) {
  const problem = result === undefined ? null : codeProblem(result)
  const status = result === undefined ? 200 : refusedStatus(c, result)
  return c.html(enrollmentPage({ ...formFor(c, person), begun, secret, problem }), status, headers)
}

function formFor(c: Context, { user, formToken }: SignedIn) {
  return {
    name: foreignName(user.name, 'A user without a name'),
    action: addressOf(c),
    token: formToken(c.req.path),
  }
}

function enrolledPage(c: Context) {
  const next = nextOf(c)
  const link = next === null ? undefined : { href: next, text: 'Enter a code now' }
  return c.html(messagePage('Your app is set up', 'You need its codes to approve large payments.', link), 200, headers)
}

function challengeOf(c: Context): string {
  return c.req.param('challenge') ?? ''
}

/**
 * Returns the page's address, including its `back` or `next` parameter, which contains the address of the page to open
 * afterwards.
 */
function addressOf(c: Context): string {
  const back = backOf(c)
  const next = nextOf(c)
  if (back !== null) return `${c.req.path}?back=${encodeURIComponent(back)}`
  return next === null ? c.req.path : `${c.req.path}?next=${encodeURIComponent(next)}`
}

/**
 * Returns the address of the approval page to return to; null if the parameter `back` is missing or contains anything
 * else. So a crafted link cannot send a person to any other page.
 */
function backOf(c: Context): string | null {
  const back = c.req.query('back')
  return back !== undefined && /^\/approvals\/apr_[0-9a-f]{32}\/review$/.test(back) ? back : null
}

/**
 * Returns the address of the verification page to open after the setup of the app; null if the parameter `next` is
 * missing or contains anything else.
 */
function nextOf(c: Context): string | null {
  const next = c.req.query('next')
  return next !== undefined && checkAddress.test(next) ? next : null
}

/** Matches the address of a verification page, as this service writes it in links. */
const checkAddress = /^\/verify\/mfc_\w{1,200}(?:\?back=%2Fapprovals%2Fapr_[0-9a-f]{32}%2Freview)?$/

function notFound(c: Context, person: SignedIn) {
  const text = 'There is nothing for you to verify at this address. Check the link, or approve again to get a new one.'
  return c.html(notYoursPage(text, person, addressOf(c)), 404, headers)
}

function refusalPage(c: Context, status: 400 | 403, text: string) {
  return c.html(
    messagePage('Not verified', `${text} Open the address again and enter the code there.`),
    status,
    headers,
  )
}
