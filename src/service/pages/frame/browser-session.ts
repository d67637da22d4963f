import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { isLoopback } from '../../../core/loopback.ts'
import type { SignInPlace } from '../../oauth/password-tries.ts'
import { type Begun, browserSeconds, type SignedIn, type SignIn, sessionSeconds } from '../../oauth/sign-in.ts'
import { callerOf } from '../../request/client-address.ts'
import { type ConnectGrounds, mayAnswer } from '../connect/routes.ts'

/** What pages need that show a signed-in person something. */
export interface SessionPages extends ConnectGrounds {
  signIn: SignIn
}

/** Who is signed in at this browser. */
export function signedInAt(c: Context, pages: SessionPages): Promise<SignedIn | undefined> {
  return pages.signIn.of(getCookie(c, cookieName(pages, 'session')))
}

/** Signs the browser in; whoever was signed in at it before no longer is. */
export async function startSession(c: Context, pages: SessionPages, { session, browser }: Begun): Promise<void> {
  await forgetSession(c, pages)
  setCookie(c, cookieName(pages, 'session'), session, { ...cookieRules(pages), maxAge: sessionSeconds })
  setCookie(c, cookieName(pages, 'browser'), browser, { ...cookieRules(pages), maxAge: browserSeconds })
}

/** Where somebody signs in, for what is counted there. Signing out changes nothing of it. */
export function placeOf(c: Context, pages: SessionPages): SignInPlace {
  return { address: callerOf(c)?.address, browser: getCookie(c, cookieName(pages, 'browser')) }
}

export async function endSession(c: Context, pages: SessionPages): Promise<void> {
  await forgetSession(c, pages)
  setCookie(c, cookieName(pages, 'session'), '', { ...cookieRules(pages), maxAge: 0 })
}

/** The sandbox's owner needs no password at the machine that the service runs on and is for. */
export function mayBeOwner(c: Context, { environment, publicUrl }: SessionPages): boolean {
  return mayAnswer(c, environment) && isLoopback(publicUrl())
}

/** Of the authorization server: in them it remembers who was signed in when an application was connected. */
const serverCookies = ['_session', '_session.sig']

async function forgetSession(c: Context, pages: SessionPages): Promise<void> {
  const before = getCookie(c, cookieName(pages, 'session'))
  if (before !== undefined) await pages.signIn.end(before)
  for (const name of serverCookies) setCookie(c, name, '', { path: '/', maxAge: 0 })
}

/** A name with this prefix can neither be set by another host of the domain nor over http (RFC 6265bis). */
function cookieName(pages: SessionPages, kept: 'session' | 'browser'): string {
  return `${isSecure(pages) ? '__Host-' : ''}payments_${kept}`
}

function cookieRules(pages: SessionPages) {
  return { httpOnly: true, sameSite: 'Lax', path: '/', secure: isSecure(pages) } as const
}

function isSecure({ publicUrl }: SessionPages): boolean {
  return publicUrl().startsWith('https:')
}
