import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { isLoopback } from '../../../core/loopback.ts'
import type { SignInPlace } from '../../oauth/password-tries.ts'
import { type Begun, browserSeconds, type SignedIn, sessionSeconds } from '../../oauth/sign-in.ts'
import { callerOf } from '../../request/client-address.ts'
import type { PageDependencies } from './dependencies.ts'

/** Who is signed in at this browser. */
export function signedInAt(c: Context, pages: PageDependencies): Promise<SignedIn | undefined> {
  return pages.signIn.of(getCookie(c, cookieName(pages, 'session')))
}

/** Signs the browser in; whoever was signed in at it before no longer is. */
export async function startSession(c: Context, pages: PageDependencies, { session, browser }: Begun): Promise<void> {
  await forgetSession(c, pages)
  setCookie(c, cookieName(pages, 'session'), session, { ...cookieRules(pages), maxAge: sessionSeconds })
  setCookie(c, cookieName(pages, 'browser'), browser, { ...cookieRules(pages), maxAge: browserSeconds })
}

/** Marks this browser's session as proven. */
export async function proveSession(c: Context, pages: PageDependencies): Promise<void> {
  const session = getCookie(c, cookieName(pages, 'session'))
  if (session !== undefined) await pages.signIn.prove(session)
}

/** The place that wrong passwords are counted by. Signing out does not change it. */
export function placeOf(c: Context, pages: PageDependencies): SignInPlace {
  return { address: callerOf(c)?.address, browser: getCookie(c, cookieName(pages, 'browser')) }
}

export async function endSession(c: Context, pages: PageDependencies): Promise<void> {
  await forgetSession(c, pages)
  setCookie(c, cookieName(pages, 'session'), '', { ...cookieRules(pages), maxAge: 0 })
}

/** The sandbox's owner needs no password at the machine that the service runs on and is for. */
export function mayBeOwner(c: Context, pages: PageDependencies): boolean {
  return mayBeAnybody(c, pages) && isLoopback(pages.publicUrl())
}

/**
 * The sandbox has no accounts of customers: at this machine whoever has a link is the person that it was sent to. The
 * listener tells who is at it; the address that the browser used must be of this machine as well.
 */
export function mayBeAnybody(c: Context, { environment }: PageDependencies): boolean {
  return environment === 'sandbox' && callerOf(c)?.local !== false && isLoopback(c.req.url)
}

/** The authorization server remembers in them who was signed in when an application was connected. */
const serverCookies = ['_session', '_session.sig']

async function forgetSession(c: Context, pages: PageDependencies): Promise<void> {
  const before = getCookie(c, cookieName(pages, 'session'))
  if (before !== undefined) await pages.signIn.end(before)
  for (const name of serverCookies) setCookie(c, name, '', { path: '/', maxAge: 0 })
}

/** A name with this prefix can neither be set by another host of the domain nor over http (RFC 6265bis). */
function cookieName(pages: PageDependencies, kept: 'session' | 'browser'): string {
  return `${isSecure(pages) ? '__Host-' : ''}payments_${kept}`
}

function cookieRules(pages: PageDependencies) {
  return { httpOnly: true, sameSite: 'Lax', path: '/', secure: isSecure(pages) } as const
}

function isSecure({ publicUrl }: PageDependencies): boolean {
  return publicUrl().startsWith('https:')
}
