import type { Context } from 'hono'
import type { SignedIn } from '../../oauth/sign-in.ts'
import type { Answerer } from '../../request/simulated-party.ts'
import { type Account, accountOf } from './account.ts'
import { hasFormToken } from './answers.ts'
import { mayActAsAnyone } from './browser-session.ts'
import type { PageDependencies } from './dependencies.ts'
import type { PageForm } from './document.ts'

/** The form on a page that a person opens from a link they received. */
export interface LinkForm extends PageForm {
  /** A token that ties the form to the signed-in user; null if the visitor is not a signed-in user of the recipient. */
  personToken: string | null
  /** Whether the visitor may agree. If not, the visitor can only decline. */
  mayAgree: boolean
}

/** The visitor of a page that a person opens from a link they received. */
export interface Visitor {
  /** The form with which the visitor can answer; null if the visitor may not answer. */
  form: LinkForm | null
  /** The signed-in user; null if nobody is signed in. */
  account: Account | null
  path: string
}

interface Opened {
  answerer: Answerer
  /** The token that the page's form sends back. */
  formToken: string
}

/** Returns the visitor of the page, with the form if the visitor may answer. */
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
  const isPlayed = answerer === 'anybody' && mayActAsAnyone(c, pages)
  return { ...visitor, form: isPlayed ? { ...form, personToken: null, mayAgree: true } : null }
}

/** Returns the reason why the visitor may not answer; undefined if the visitor may answer. */
export function refusalOf(
  c: Context,
  pages: PageDependencies,
  answerer: Answerer,
  { signedIn, sent, isYes }: { signedIn: SignedIn | undefined; sent: URLSearchParams; isYes: boolean },
): string | undefined {
  if (answerer === 'own user' && signedIn !== undefined) {
    const token = new URLSearchParams({ formToken: sent.get('personToken') ?? '' })
    if (!hasFormToken(signedIn, purposeOf(c), token))
      return 'You signed in as a different user after this page was opened. Nothing was changed.'
    return isYes && !signedIn.isProven ? 'Nothing was changed. To agree, sign in with your password.' : undefined
  }
  if (answerer === 'anybody' && mayActAsAnyone(c, pages)) return undefined
  return 'Sign in as a user of the recipient’s account.'
}

function purposeOf(c: Context): string {
  return `answer ${c.req.path}`
}
