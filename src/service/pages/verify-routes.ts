import type { Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { Logger } from '../../log.ts'
import type { System } from '../../system.ts'
import type { CodeResult, SecondFactor, Verification } from '../second-factor.ts'
import { isForm, isOwnForm, mostFormBytes } from './own-forms.ts'
import { createAssets } from './page-assets.ts'
import { failingAs } from './page-failure.ts'
import { formPageHeaders as headers } from './page-headers.ts'
import { verifyMessage, verifyPage } from './verify-page.ts'
import { verifyWords } from './verify-words.ts'

interface VerifyPages {
  secondFactor: SecondFactor
  publicUrl: () => string
  system: System
  log: Logger
}

const orFailure = failingAs({ page: 'a verification page', message: verifyMessage, headers })

/** The page that a 428 names: it takes a code of the user's authenticator app. */
export function mountVerify(app: Hono, pages: VerifyPages): void {
  const asset = createAssets()
  app.get('/verify/style.css', () => asset('verify.css'))
  app.get('/verify/:challenge', (c) => orFailure(c, pages, () => showPage(c, pages)))
  const tooLong = (c: Context) => c.html(verifyMessage('Not verified', 'The form is too long.'), 400, headers)
  const limit = bodyLimit({ maxSize: mostFormBytes, onError: tooLong })
  app.post('/verify/:challenge', limit, (c) => orFailure(c, pages, () => takeCode(c, pages)))
}

async function showPage(c: Context, { secondFactor }: VerifyPages): Promise<Response> {
  const verification = await secondFactor.open(c.req.param('challenge') ?? '')
  if (verification === undefined) return notFound(c)
  return show(c, verification, null, verification.expired && verification.verifiedUntilMs === null ? 410 : 200)
}

/** The address is what another site doesn't know; that the form is this page's the browser says. */
async function takeCode(c: Context, { secondFactor, publicUrl, log }: VerifyPages): Promise<Response> {
  if (!isOwnForm(c, publicUrl())) return refused(c, 403, 'The code did not come from this page.')
  if (!isForm(c)) return refused(c, 400, 'The form has to send a code.')
  const code = new URLSearchParams(await c.req.text()).get('code') ?? ''
  const checked = await secondFactor.verify(c.req.param('challenge') ?? '', code)
  if (checked === undefined) return notFound(c)
  const { result, after } = checked
  log.info({ verdict: result.verdict }, 'a second factor was checked')
  // To a page by GET: a reload repeats nothing.
  if (result.verdict === 'accepted') return c.body(null, 303, { ...headers, Location: backOf(c) ?? c.req.path })
  if (result.verdict === 'too_many') c.header('Retry-After', String(result.retryAfterSeconds))
  return show(c, after, result, statuses[result.verdict])
}

const statuses = {
  challenge_expired: 410,
  malformed: 422,
  wrong: 422,
  expired: 422,
  used: 422,
  too_many: 429,
} as const satisfies Record<Exclude<CodeResult['verdict'], 'accepted'>, number>

function show(c: Context, verification: Verification, result: CodeResult | null, status: 200 | 410 | 422 | 429) {
  const { name, enrolment } = verification
  const back = backOf(c)
  const action = back === null ? c.req.path : `${c.req.path}?back=${encodeURIComponent(back)}`
  const shown = { name, enrolment, action }
  return c.html(verifyPage(verifyWords(verification, result), shown), status, headers)
}

/** The approval's page that led here and is returned to; an address that somebody else wrote leads nowhere else. */
function backOf(c: Context): string | null {
  const back = c.req.query('back')
  return back !== undefined && /^\/approvals\/apr_[0-9a-f]{32}\/review$/.test(back) ? back : null
}

function notFound(c: Context) {
  const text = 'There is nothing to verify at this address. Check the link, or approve again to get a new one.'
  return c.html(verifyMessage('Not found', text), 404, headers)
}

function refused(c: Context, status: 400 | 403, text: string) {
  return c.html(
    verifyMessage('Not verified', `${text} Open the address again and enter the code there.`),
    status,
    headers,
  )
}
