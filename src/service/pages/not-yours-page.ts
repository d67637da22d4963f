import { html } from 'hono/html'
import type { SignedIn } from '../oauth/sign-in.ts'
import { shortText } from './application-words.ts'
import type { Html } from './page-document.ts'
import { oauthDocument, signOutForm } from './sign-in-page.ts'

/** Says that nothing is there for the person who is signed in: somebody else may be meant, who signs in here. */
export function notYoursPage(text: string, { user, formToken }: SignedIn, next: string): Html {
  const heading = 'Not found'
  return oauthDocument(
    heading,
    html`<main>
<h1>${heading}</h1>
<p>${text}</p>
<section class="account" aria-labelledby="account">
<h2 id="account">Your account</h2>
<p>Signed in as <bdi>${shortText(user.name)}</bdi> (<bdi>${shortText(user.email, 254)}</bdi>)</p>
${signOutForm(formToken('sign out'), 'Sign in as somebody else', next)}
</section>
</main>`,
  )
}
