import type { Context, Hono } from 'hono'
import { Failure } from '../../../core/errors.ts'
import { type Consent, type ConsentRequest, type ConsentView, createConsent } from '../../oauth/consent.ts'
import type { Interactions } from '../../oauth/interactions.ts'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { accountOf } from '../frame/account.ts'
import { hasFormToken, ownFields, refuseForeignForm, type Show, withFailurePage } from '../frame/answers.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { messagePage } from '../frame/form-page.ts'
import { consentHeaders, oauthPageHeaders } from '../frame/oauth-headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { consentPage } from './view.ts'
import { type ConsentEntry, type ConsentProblem, choiceOf, consentWords, firstEntry } from './words.ts'

interface ConsentDependencies extends PageDependencies {
  interactions: Interactions
}

interface ConsentPages extends ConsentDependencies {
  consent: Consent
}

/**
 * The size limit of a form in bytes. The longest name and description fit, because a form encodes each UTF-16 code unit
 * in at most nine bytes.
 */
const maxConsentBytes = 16 * 1024

/** Mounts the consent page, where a person answers an application's request, and the handler of the page's form. */
export function mountConsent(app: Hono, dependencies: ConsentDependencies): void {
  const pages = { ...dependencies, consent: createConsent(dependencies) }
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /oauth/consent/:uid', showConsent)
  serve('POST /oauth/consent/:uid', takeDecision, { maxBytes: maxConsentBytes })
}

const showConsent: Show<ConsentPages> = async (c, pages, signedIn) => {
  const request = await requestAt(c, pages)
  if (request === undefined) return endedPage(c)
  const view = await pages.consent.view(signedIn.user, request)
  return show(c, { request, signedIn, view, entry: firstEntry(view), problem: null }, 200)
}

const takeDecision: Show<ConsentPages> = async (c, pages, signedIn) => {
  const { consent, interactions, log } = pages
  const sent = await ownFields(c, pages)
  const request = await requestAt(c, pages)
  if (request === undefined) return endedPage(c)
  if (sent === undefined || !hasFormToken(signedIn, purposeOf(request), sent)) return refuseForeignForm(c, c.req.path)
  const decision = sent.get('decision')
  if (decision === 'deny') {
    log.info({ consent: 'denied', clientId: request.client.id }, 'decided')
    return addPageHeaders(await interactions.deny(c.req.raw))
  }
  if (decision !== 'allow') return refuseForeignForm(c, c.req.path)
  const view = await consent.view(signedIn.user, request)
  const entry = entryOf(sent)
  const state = { request, signedIn, view, entry }
  const choice = choiceOf(entry, view)
  if ('field' in choice) return show(c, { ...state, problem: choice }, 422)
  try {
    const allowed = await consent.allow(signedIn.user, request, choice)
    log.info({ consent: 'allowed', clientId: request.client.id, grantId: allowed.id }, 'decided')
    return addPageHeaders(await interactions.allow(c.req.raw, signedIn.user, request, allowed))
  } catch (error) {
    if (!(error instanceof Failure) || !isShownOnForm(error.status)) throw error
    return show(c, { ...state, problem: { field: 'agent', text: error.message } }, error.status)
  }
}

/** Returns this browser's pending request if the page's address contains that request's id. */
async function requestAt(c: Context, { interactions }: ConsentPages): Promise<ConsentRequest | undefined> {
  const request = await interactions.request(c.req.raw)
  return request?.uid === c.req.param('uid') ? request : undefined
}

function entryOf(sent: URLSearchParams): ConsentEntry {
  // Browsers send each line break as CR LF.
  const text = (name: string) => (sent.get(name) ?? '').replaceAll('\r\n', '\n')
  return { agent: text('agent'), name: text('agentName'), description: text('agentDescription') }
}

function isShownOnForm(status: number): status is 403 | 409 | 422 {
  return [403, 409, 422].includes(status)
}

interface PageState {
  request: ConsentRequest
  signedIn: SignedIn
  view: ConsentView
  entry: ConsentEntry
  problem: ConsentProblem | null
}

function show(c: Context, state: PageState, status: 200 | 403 | 409 | 422) {
  const { request, signedIn, view, entry, problem } = state
  const page = consentPage({
    words: consentWords(request, view),
    action: c.req.path,
    formToken: signedIn.formToken(purposeOf(request)),
    account: accountOf(signedIn),
    mayAgree: signedIn.isProven,
    entry,
    problem,
  })
  return c.html(page, status, consentHeaders(request.client.redirectUri))
}

function purposeOf({ uid }: ConsentRequest): string {
  return `consent ${uid}`
}

/** Adds the headers of the OAuth pages to the response that redirects to the application. */
function addPageHeaders(response: Response): Response {
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(oauthPageHeaders)) headers.set(name, value)
  return new Response(response.body, { status: response.status, headers })
}

function endedPage(c: Context) {
  const text =
    'This request was answered already, or it has expired. Go back to the application; if it isn’t connected, start again there.'
  return c.html(messagePage('Nothing to answer', text), 400, oauthPageHeaders)
}
