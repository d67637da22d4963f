import type { Context } from 'hono'
import type { SignedIn } from '../../oauth/sign-in.ts'
import type { Answerer } from '../../request/played-party.ts'
import { type Account, accountOf } from './account.ts'
import { hasFormToken } from './answers.ts'
import { mayBeAnybody } from './browser-session.ts'
import type { PageDependencies } from './dependencies.ts'
import type { PageForm } from './document.ts'

/** The form of a page whose address somebody was sent. */
export interface LinkForm extends PageForm {
  /** Fits the signed-in user of the party that the link is to; null: the visitor answers as a party that nobody signs in for. */
  personToken: string | null
  /** Whether a yes is taken from the visitor. */
  mayAgree: boolean
}

/** The visitor of a page whose address somebody was sent. */
export interface Visitor {
  /** Null: somebody else answers here, or nobody does. */
  form: LinkForm | null
  /** Null: nobody is signed in. */
  account: Account | null
  /** The page's own path. */
  path: string
}

interface Opened {
  answerer: Answerer
  /** What the page's form sends back. */
  formToken: string
}

/** Tells which form of a link's page the visitor may send. */
export function visitorOf(
  c: Context,
  pages: PageDependencies,
  { answerer, formToken }: Opened,
  signedIn: SignedIn | undefined,
): Visitor {
  const visitor = { account: signedIn === undefined ? null : accountOf(signedIn), path: c.req.path }
  const form = { action: c.req.path, token: formToken }
  if (answerer === 'own user' && signedIn !== undefined) {
    const personToken = signedIn.formToken(purposeOf(c))
    return { ...visitor, form: { ...form, personToken, mayAgree: signedIn.isProven } }
  }
  const isPlayed = answerer === 'anybody' && mayBeAnybody(c, pages)
  return { ...visitor, form: isPlayed ? { ...form, personToken: null, mayAgree: true } : null }
}

/** Tells why an answer to a link is not taken from the visitor; undefined: it is. */
export function refusalOf(
  c: Context,
  pages: PageDependencies,
  answerer: Answerer,
  { signedIn, sent, isYes }: { signedIn: SignedIn | undefined; sent: URLSearchParams; isYes: boolean },
): string | undefined {
  if (answerer === 'own user' && signedIn !== undefined) {
    const token = new URLSearchParams({ formToken: sent.get('personToken') ?? '' })
    if (!hasFormToken(signedIn, purposeOf(c), token))
      return 'You signed in as somebody else since. Nothing was changed.'
    return isYes && !signedIn.isProven ? 'Nothing was changed. To agree, sign in with your password.' : undefined
  }
  if (answerer === 'anybody' && mayBeAnybody(c, pages)) return undefined
  return 'Sign in as a user of the account that it was sent to.'
}

function purposeOf(c: Context): string {
  return `answer ${c.req.path}`
}
