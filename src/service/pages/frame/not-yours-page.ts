import { html } from 'hono/html'
import type { SignedIn } from '../../oauth/sign-in.ts'
import { accountOf, accountSection, oauthDocument } from '../sign-in/view.ts'
import type { Html } from './document.ts'

/** Says that nothing is there for the person who is signed in: somebody else may be meant, who signs in here. */
export function notYoursPage(text: string, signedIn: SignedIn, next: string): Html {
  const heading = 'Not found'
  return oauthDocument(
    heading,
    html`<main>
<h1>${heading}</h1>
<p>${text}</p>
${accountSection(accountOf(signedIn), 'Sign in as somebody else', next)}
</main>`,
  )
}
