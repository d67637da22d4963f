import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { isLoopback } from '../loopback.ts'
import { type SignedIn, type SignIn, sessionSeconds } from '../oauth/sign-in.ts'
import { type ConnectGrounds, mayAnswer } from './connect-routes.ts'

/** What pages need that show a signed-in person something. */
export interface SessionPages extends ConnectGrounds {
  signIn: SignIn
}

/** Who is signed in at this browser. */
export function signedInAt(c: Context, pages: SessionPages): Promise<SignedIn | undefined> {
  return pages.signIn.of(getCookie(c, cookieName(pages)))
}

/** Signs the browser in; whoever was signed in at it before no longer is. */
export async function startSession(c: Context, pages: SessionPages, session: string): Promise<void> {
  await forgetSession(c, pages)
  setCookie(c, cookieName(pages), session, { ...cookieRules(pages), maxAge: sessionSeconds })
}

export async function endSession(c: Context, pages: SessionPages): Promise<void> {
  await forgetSession(c, pages)
  setCookie(c, cookieName(pages), '', { ...cookieRules(pages), maxAge: 0 })
}

/** The sandbox's owner needs no password at the machine that the service runs on and is for. */
export function mayBeOwner(c: Context, { environment, publicUrl }: SessionPages): boolean {
  return mayAnswer(c, environment) && isLoopback(publicUrl())
}

/** Of the authorization server: in them it remembers who was signed in when an application was connected. */
const serverCookies = ['_session', '_session.sig']

async function forgetSession(c: Context, pages: SessionPages): Promise<void> {
  const before = getCookie(c, cookieName(pages))
  if (before !== undefined) await pages.signIn.end(before)
  for (const name of serverCookies) setCookie(c, name, '', { path: '/', maxAge: 0 })
}

/** A name with this prefix can neither be set by another host of the domain nor over http (RFC 6265bis). */
function cookieName(pages: SessionPages): string {
  return isSecure(pages) ? '__Host-payments_session' : 'payments_session'
}

function cookieRules(pages: SessionPages) {
  return { httpOnly: true, sameSite: 'Lax', path: '/', secure: isSecure(pages) } as const
}

function isSecure({ publicUrl }: SessionPages): boolean {
  return publicUrl().startsWith('https:')
}
