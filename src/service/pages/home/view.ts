import { html } from 'hono/html'
import {
  type HostName,
  type HostSetup,
  hostBlock,
  hostLink,
  hostNames,
  hostSetups,
  type ServerConnection,
  type Start,
} from '../../../core/host-setups.ts'
import type { Environment } from '../../../core/operation.ts'
import { firstQuestion } from '../../../core/product.ts'
import { type Html, pageDocument } from '../frame/document.ts'

interface HomeState {
  environment: Environment
  version: string
  mcpUrl: string
  /**
   * The command that an AI host on this machine runs to start the MCP server; undefined if there is no such command or
   * if the visitor is on another machine.
   */
  start: Start | undefined
  /** The AI host whose configuration is shown. */
  host: HostName
}

/**
 * Renders the page at `/`. The page also works without JavaScript: a link for each host shows that host's
 * configuration, and visitors can copy the configuration by hand.
 */
export function homePage(state: HomeState): Html {
  const { environment, version, mcpUrl } = state
  const sandbox = environment === 'sandbox'
  const title = 'Payments for AI agents'
  const main = html`<h1>${title}</h1>
<p>${sandbox ? 'Give AI agents cards and payments over MCP. This is the sandbox: agents make complete purchases, every cent is accounted for, and no real money moves.' : 'Give AI agents cards and payments over MCP, within the limits that you set.'}</p>
<dl>
<div><dt>Status</dt><dd><span class="state good">Running</span>, ${environment}, version ${version}</dd></div>
<div><dt>MCP</dt><dd><code>${mcpUrl}</code></dd></div>
</dl>
${hostSection(state)}
<section aria-labelledby="ask">
<h2 id="ask">2. Ask your agent</h2>
${block(firstQuestion, 'the question')}
</section>
<section aria-labelledby="people">
<h2 id="people">Manage your agents</h2>
<ul>
<li><a href="/console">Console</a>: your agents’ calls as they happen, and your money${sandbox ? ', the clock and faults' : ''}</li>
<li><a href="/sign-in">Sign in</a>${sandbox ? ' as the owner of the sandbox' : ''}</li>
<li><a href="/decisions">Decisions</a>: approve or deny what your agents ask for</li>
<li><a href="/connections">Connected applications</a>: review and revoke their access</li>
</ul>
</section>
${sandbox ? shops : ''}<section aria-labelledby="programs">
<h2 id="programs">For developers</h2>
<ul>
<li><a href="/docs">API reference</a> (<a href="/openapi.json">openapi.json</a>)</li>
<li><a href="/llms.txt">llms.txt</a>: all tools in one text file</li>
<li><a href="/mcp/server-card">MCP server card</a></li>
<li><a href="/healthz">Health</a></li>
</ul>
</section>`
  return pageDocument({
    title,
    scripts: html`<script src="/scripts/copy.js" type="module"></script>`,
    body: html`<main class="broad">\n${main}\n</main>`,
  })
}

const shops = html`<section aria-labelledby="shops">
<h2 id="shops">Buy something</h2>
<p><a href="/shops">Shops</a> where an agent that uses a browser can pay by card</p>
</section>
`

function hostSection({ host, mcpUrl, start }: HomeState): Html {
  const setup: HostSetup = hostSetups[host]
  return html`<section aria-labelledby="connect">
<h2 id="connect">1. Connect your AI host</h2>
<nav aria-label="AI hosts"><ul class="line">
${hostNames.map((name) => html`<li><a class="button" href="/?host=${name}#connect"${name === host ? html` aria-current="true"` : ''}>${hostSetups[name].title}</a></li>`)}
</ul></nav>
<h3>Connect to this address and sign in</h3>
${configurationPart(host, { url: mcpUrl })}
${setup.remoteTip === undefined ? '' : html`<p class="aside">${setup.remoteTip}</p>`}
${start === undefined ? '' : localSetup(host, start)}
</section>`
}

function localSetup(host: HostName, start: Start): Html {
  const { title, entry }: HostSetup = hostSetups[host]
  return html`<details${entry({ url: '' }) === null ? html` open` : ''}>
<summary>Or let ${title} start the MCP server</summary>
<div class="stack">
<p class="aside">The MCP server then uses this same sandbox, and works even if this service is not running.</p>
${configurationPart(host, { start })}
</div>
</details>`
}

function configurationPart(host: HostName, connection: ServerConnection): Html {
  const { title, file } = hostSetups[host]
  const [text, link] = [hostBlock(host, connection), hostLink(host, connection)]
  if (text === null) return html``
  return html`${link === null ? '' : html`<p><a class="button accent" href="${link}">Add to ${title}${'start' in connection ? ', which starts the server' : ''}</a></p>`}
<p class="aside">${link === null ? 'Put' : 'Or put'} this into ${file}:</p>
${block(text, `the configuration of ${title}${'start' in connection ? ' that starts the server' : ''}`)}`
}

/** Renders text to copy. The page's script adds a copy button, and `content` is the end of the button's label. */
function block(text: string, content: string): Html {
  return html`<pre data-copy="${content}"><code>${text}</code></pre>`
}
