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

/** Gives the browser the cookies of a new session, and ends its previous session. */
export async function startSession(c: Context, pages: PageDependencies, { session, browser }: Cookies): Promise<void> {
  await forgetSession(c, pages)
  setCookie(c, cookieName(pages, 'session'), session, { ...cookieRules(pages), maxAge: sessionSeconds })
  setCookie(c, cookieName(pages, 'browser'), browser, { ...cookieRules(pages), maxAge: browserSeconds })
}

/** Marks this browser's session as proven, after the person has shown that they are not a program. */
export async function proveSession(c: Context, pages: PageDependencies): Promise<void> {
  const session = getCookie(c, cookieName(pages, 'session'))
  if (session !== undefined) await pages.signIn.prove(session)
}

/**
 * Returns the client's IP address, and the cookie that identifies the browser even after the user signs out. Wrong
 * passwords are counted per cookie if the user has signed in with this browser before, otherwise per IP address.
 */
export function placeOf(c: Context, pages: PageDependencies): SignInPlace {
  return { address: callerOf(c)?.address, browser: getCookie(c, cookieName(pages, 'browser')) }
}

export async function endSession(c: Context, pages: PageDependencies): Promise<void> {
  await forgetSession(c, pages)
  setCookie(c, cookieName(pages, 'session'), '', { ...cookieRules(pages), maxAge: 0 })
}

/**
 * Returns whether the sandbox's owner may sign in without a password, which works only on the service's own machine.
 */
export function mayBeOwner(c: Context, pages: PageDependencies): boolean {
  return mayActAsAnyone(c, pages) && isLoopback(pages.publicUrl())
}

/**
 * Returns whether the visitor may act for recipients who have no account, such as the sandbox's customers. Anyone on
 * the sandbox's machine may: both the client's connection and the requested address must be local.
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
 * Returns a cookie's name. Because of the prefix `__Host-`, neither other hosts of the domain nor pages over plain HTTP
 * can set the cookie (RFC 6265bis).
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
