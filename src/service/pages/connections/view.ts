import { html } from 'hono/html'
import type { Html } from '../frame/document.ts'
import { formPage } from '../frame/form-page.ts'
import type { ConnectionWords, StatusWords } from './words.ts'

interface ConnectionsPage {
  connections: readonly (ConnectionWords & { formToken: string })[]
  /** Whether the person may register applications and trust identity providers. */
  mayRegister: boolean
  /** The message about the person's last action; null if there is none. */
  status: StatusWords | null
}

/** Renders the page of a person's connected applications. The page has no script. */
export function connectionsPage(state: ConnectionsPage): Html {
  const { connections, mayRegister, status } = state
  const heading = 'Connected applications'
  const main = html`<h1>${heading}</h1>
${status === null ? '' : html`<p class="${status.isProblem ? 'warning' : 'done'}" role="${status.isProblem ? 'alert' : 'status'}">${status.text}</p>`}
${connections.length === 0 ? html`<p>No connected applications. To connect one, add this service in the application, and sign in when it asks you to.</p>` : connections.map(connectionSection)}
${mayRegister ? registering : ''}`
  return formPage({ title: status === null ? heading : `${status.title} – ${heading}`, main })
}

const registering = html`<section aria-labelledby="registering">
<h2 id="registering">Sign in without a browser</h2>
<ul>
<li><a href="/connections/new/application">Register an application</a>: a deployed service that signs in by itself, as an agent</li>
<li><a href="/connections/new/identity-provider">Trust an identity provider</a>: let your company’s identity provider sign in the agents of your colleagues</li>
</ul>
</section>`

function connectionSection(connection: ConnectionsPage['connections'][number], index: number): Html {
  const { grantId, application, actsAs, spending, permissions, since, lastUsed, formToken } = connection
  const { name } = application
  const ofApplication = html`<span class="unseen"> of <bdi>${name}</bdi></span>`
  const unseenName = html`<span class="unseen"> <bdi>${name}</bdi></span>`
  return html`<section>
<h2><bdi>${name}</bdi></h2>
<dl>
<div><dt>Application</dt><dd>${registrationText(connection)}</dd></div>
<div><dt>Acts as</dt><dd>${actsAs === null ? 'You' : html`<bdi>${actsAs}</bdi>`}</dd></div>
${spending === null ? '' : html`<div><dt>Spending</dt><dd>${spending}</dd></div>`}
<div><dt>Connected</dt><dd>${since}</dd></div>
<div><dt>Last used</dt><dd>${lastUsed}</dd></div>
</dl>
<form method="post" action="/connections/${grantId}">
<input type="hidden" name="formToken" value="${formToken}">
${
  permissions.length === 0
    ? html`<p>The application can only see who you are.</p>`
    : html`<fieldset>
<legend>It may</legend>
${permissions.map(
  ({ scope, words }, at) => html`<div class="option">
<input type="checkbox" id="scope-${index}-${at}" name="scope" value="${scope}" checked>
<label for="scope-${index}-${at}">${words}</label>
</div>
`,
)}
</fieldset>`
}
<div class="choices">
${permissions.length === 0 ? '' : html`<button type="submit" name="action" value="narrow" class="quiet">Save permissions${ofApplication}</button>`}
<button type="submit" name="action" value="revoke" class="danger">Disconnect${unseenName}</button>
</div>
</form>
</section>
`
}

/** Describes how the application was registered or verified. */
function registrationText({ application: { host }, signsInItself, identityProvider }: ConnectionWords): Html | string {
  if (identityProvider !== null) return html`Registered here; its agents sign in through <bdi>${identityProvider}</bdi>`
  if (signsInItself) return 'Registered here; signs in by itself'
  return host === null ? 'Its name is not verified' : html`Verified as <strong>${host}</strong>`
}
