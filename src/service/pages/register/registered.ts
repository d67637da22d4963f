import { html } from 'hono/html'
import { foreignName } from '../../../core/foreign-text.ts'
import type { Html } from '../frame/document.ts'
import { formPage } from '../frame/form-page.ts'

/** A new application, as the API returns it. */
export interface NewApplication {
  name: string
  clientId: string
  clientSecret: string | null
}

/** A newly trusted identity provider, as the API returns it. */
export interface NewTrustedIssuer extends NewApplication {
  issuer: string
  audience: string
}

/** Renders the response after an application is registered. No other page shows the application's secret. */
export function registeredPage({
  name,
  clientId,
  clientSecret,
  agentName,
  baseUrl,
}: NewApplication & { agentName: string; baseUrl: string }): Html {
  const facts = [
    fact('Name', html`<bdi>${foreignName(name, clientId, 100)}</bdi>`),
    fact('Acts as', html`<bdi>${agentName}</bdi>`),
    fact('Client id', html`<code>${clientId}</code>`),
    ...(clientSecret === null ? [] : [fact('Client secret', html`<code>${clientSecret}</code>`)]),
  ]
  const [file, content] =
    clientSecret === null ? ['key.pem', 'the application’s private key (PKCS #8)'] : ['secret.txt', 'the client secret']
  const next = html`<section aria-labelledby="next">
<h2 id="next">Sign in</h2>
<p>Put ${content} into a file that no other users can read. The MCP server then signs in with:</p>
<pre>payments-mcp login --client-credentials --client-id ${clientId} \\
  --proof-file ${file} --base-url ${baseUrl}</pre>
<p>Any other MCP client that supports OAuth client credentials can sign in with the same client id.</p>
</section>`
  return page('Application registered', { facts, next, hasSecret: clientSecret !== null })
}

/** Renders the response after an identity provider is trusted. No other page shows the AI host's secret. */
export function trustedPage({
  name,
  clientId,
  clientSecret,
  issuer,
  audience,
  baseUrl,
}: NewTrustedIssuer & { baseUrl: string }): Html {
  const facts = [
    fact('AI host', html`<bdi>${foreignName(name, clientId, 100)}</bdi>`),
    fact('Issuer', html`<bdi>${foreignName(issuer, 'An address', 500)}</bdi>`),
    fact('Client id', html`<code>${clientId}</code>`),
    fact('Client secret', html`<code>${clientSecret}</code>`),
    fact('Audience', html`<code>${audience}</code>`),
    fact('Resource', html`<code>${baseUrl}/mcp</code>`),
  ]
  const next = html`<section aria-labelledby="next">
<h2 id="next">Set up both sides</h2>
<ol>
<li>At the identity provider, register this service with the audience and the resource. Let the provider issue assertions for the client id.</li>
<li>Give the AI host the client id and the client secret.</li>
</ol>
</section>`
  return page('Identity provider trusted', { facts, next, hasSecret: true })
}

interface PageContent {
  facts: readonly Html[]
  next: Html
  hasSecret: boolean
}

function page(heading: string, { facts, next, hasSecret }: PageContent): Html {
  const main = html`<h1>${heading}</h1>
<p class="done" role="status">${hasSecret ? 'Copy the secret now. It is shown only this once, and nobody can look it up later.' : 'The application signs in with its private key. There is no secret to copy.'}</p>
<dl>
${facts}
</dl>
${next}
<p><a href="/connections">To see, limit or disconnect it, open your connected applications</a></p>`
  return formPage({ title: heading, isBroad: true, main })
}

const fact = (name: string, value: Html) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`
