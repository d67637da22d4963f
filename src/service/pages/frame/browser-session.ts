import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { isLoopback } from '../../../core/loopback.ts'
import type { SignInPlace } from '../../oauth/password-tries.ts'
import { browserSeconds, type Cookies, type SignedIn, sessionSeconds } from '../../oauth/sign-in.ts'
import { callerOf } from '../../request/client-address.ts'
import type { PageDependencies } from './dependencies.ts'

/** Returns the user of this browser's session; undefined if nobody is signed in. */
export function signedInAt(c: Context, pages: PageDependencies): Promise<SignedIn | undefined> {
  return pages.signIn.of(getCookie(c, cookieName(pages, 'session')))
}

/** Ends the browser's previous session, and sets the cookies of the new session. */
export async function startSession(c: Context, pages: PageDependencies, { session, browser }: Cookies): Promise<void> {
  await forgetSession(c, pages)
  setCookie(c, cookieName(pages, 'session'), session, { ...cookieRules(pages), maxAge: sessionSeconds })
  setCookie(c, cookieName(pages, 'browser'), browser, { ...cookieRules(pages), maxAge: browserSeconds })
}

/** Marks this browser's session as proven, after the user's second factor was accepted. */
export async function proveSession(c: Context, pages: PageDependencies): Promise<void> {
  const session = getCookie(c, cookieName(pages, 'session'))
  if (session !== undefined) await pages.signIn.prove(session)
}

/**
 * Returns the client's IP address, and the cookie that identifies the browser even after the user signs out. If the
 * user has signed in with this browser before, wrong passwords are counted for the browser; otherwise, they are counted
 * for the IP address.
 */
export function placeOf(c: Context, pages: PageDependencies): SignInPlace {
  return { address: callerOf(c)?.address, browser: getCookie(c, cookieName(pages, 'browser')) }
}

export async function endSession(c: Context, pages: PageDependencies): Promise<void> {
  await forgetSession(c, pages)
  setCookie(c, cookieName(pages, 'session'), '', { ...cookieRules(pages), maxAge: 0 })
}

/**
 * Returns whether the visitor may sign in as the sandbox's owner without a password. This is allowed only on the
 * sandbox's machine, and only if the public URL is local.
 */
export function mayBeOwner(c: Context, pages: PageDependencies): boolean {
  return mayActAsAnyone(c, pages) && isLoopback(pages.publicUrl())
}

/**
 * Returns whether the visitor may act for recipients who have no account, such as the sandbox's customers. Everyone on
 * the sandbox's machine may do so: the client's connection and the requested address must both be local.
 */
export function mayActAsAnyone(c: Context, { environment }: PageDependencies): boolean {
  return environment === 'sandbox' && callerOf(c)?.local !== false && isLoopback(c.req.url)
}

/** The cookies in which the authorization server remembers the user who connected an application. */
const serverCookies = ['_session', '_session.sig']

async function forgetSession(c: Context, pages: PageDependencies): Promise<void> {
  const before = getCookie(c, cookieName(pages, 'session'))
  if (before !== undefined) await pages.signIn.end(before)
  for (const name of serverCookies) setCookie(c, name, '', { path: '/', maxAge: 0 })
}

/**
 * Returns a cookie's name. If the service uses HTTPS, the name has the prefix `__Host-`. Only this host can set such a
 * cookie, and only over HTTPS (RFC 6265bis).
 */
function cookieName(pages: PageDependencies, kind: 'session' | 'browser'): string {
  return `${isSecure(pages) ? '__Host-' : ''}payments_${kind}`
}

function cookieRules(pages: PageDependencies) {
  return { httpOnly: true, sameSite: 'Lax', path: '/', secure: isSecure(pages) } as const
}

function isSecure({ publicUrl }: PageDependencies): boolean {
  return publicUrl().startsWith('https:')
}
