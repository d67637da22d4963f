import { builtin } from '../../core/builtin.ts'
import type { Environment } from '../../core/operation.ts'
import { framedStyle } from '../../display/style.ts'

const files = builtin<typeof import('node:fs/promises')>('node:fs/promises')

/** A page that a host shows beside the result of a tool (MCP Apps, 2026-01-26): one document, which loads nothing. */
interface AppResource {
  uri: string
  name: string
  title: string
  description: string
  mimeType: 'text/html;profile=mcp-app'
  _meta: Record<string, unknown>
  read(): Promise<string>
}

/** The key of the protocol, and the one that hosts from before it look for. */
type ToolUiMeta = {
  ui: { resourceUri: string }
  'ui/resourceUri': string
}

interface View {
  title: string
  description: string
  /** Above the title. */
  kind: string
  /** The title until there is something to show. */
  waiting: string
  /** Whose results it shows. None of them ever carries a card's number. */
  tools: readonly string[]
}

const views = {
  'card-purchase': {
    title: 'Card purchase',
    description: 'A card purchase from request to refund.',
    kind: 'Card purchase',
    waiting: 'Waiting for the purchase…',
    tools: [
      'get_card_transaction',
      'simulate_card_authorization',
      'simulate_card_capture',
      'simulate_card_reversal',
      'simulate_card_expiration',
      'simulate_card_refund',
    ],
  },
  'agent-card': {
    title: 'Card',
    description: 'A card of an agent and what was bought with it.',
    kind: 'Card for one purchase',
    waiting: 'Waiting for the card…',
    tools: ['issue_agent_card', 'get_agent_card'],
  },
  approval: {
    title: 'Approval',
    description: 'A payment that waits for a decision.',
    kind: 'Payment in review',
    waiting: 'Waiting for the approval…',
    tools: ['get_approval', 'approve_approval', 'deny_approval'],
  },
} as const satisfies Record<string, View>

type ViewName = keyof typeof views

const byTool: ReadonlyMap<string, string> = new Map(
  Object.entries<View>(views).flatMap(([name, { tools }]) => tools.map((tool) => [tool, uriOf(name)] as const)),
)

/** What the tool's `_meta` says about the view of its results; undefined where it has none. */
export function toolUiMeta(toolName: string): ToolUiMeta | undefined {
  const resourceUri = byTool.get(toolName)
  return resourceUri === undefined ? undefined : { ui: { resourceUri }, 'ui/resourceUri': resourceUri }
}

/** The views as resources; those of the sandbox offer its simulations. The files are read when a view is. */
export function appResources(environment: Environment): readonly AppResource[] {
  return Object.entries<View>(views).map(([name, { title, description }]) => ({
    uri: uriOf(name),
    name,
    title,
    description,
    mimeType: 'text/html;profile=mcp-app',
    // No domain at all: a host lets the view reach nothing but the host itself.
    _meta: { ui: { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true } },
    read: () => documentOf(name as ViewName, environment),
  }))
}

/** The views with the tools that they belong to, as the server takes them. */
export function appViews(environment: Environment) {
  return { toolMeta: toolUiMeta, resources: appResources(environment) }
}

function uriOf(name: string): string {
  return `ui://payments/${name}`
}

/** What every view is made of; a script stands behind those that it imports. */
const sharedScripts = [
  'elements.js',
  'answers.js',
  'host.js',
  'actions.js',
  'live.js',
  'words.js',
  'amount.js',
  'frame.js',
] as const

async function documentOf(name: ViewName, environment: Environment): Promise<string> {
  const scripts = Promise.all([...sharedScripts, `${name}.js`].map(readView))
  const [style, body] = await Promise.all([readView('style.css'), readView(`${name}.html`)])
  const { title, kind, waiting } = views[name]
  return `<!doctype html>
<html lang="en" data-environment="${environment}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>
${framedStyle()}${style}</style>
</head>
<body>
<main>
<header>
<p class="aside">${kind}</p>
<h1 id="title" tabindex="-1">${waiting}</h1>
<p><strong id="state" class="state" hidden></strong></p>
</header>
<p id="news" class="unseen" role="status"></p>
${body}<footer id="foot" class="line spread" hidden>
<p id="live" class="aside"></p>
<button type="button" id="refresh" class="plain">Refresh</button>
</footer>
</main>
<script type="module">
${(await scripts).map(inOneModule).join('\n')}</script>
</body>
</html>
`
}

/** They lie beside this file, in `dist` and in the bundle too. */
function readView(file: string): Promise<string> {
  return files().readFile(new URL(`./views/${file}`, import.meta.url), 'utf8')
}

/** The module as a part of one that holds all it imports: an inline script has nothing to import from. */
function inOneModule(text: string): string {
  return text.replace(/^import [^']*'\.\/[^']+'\n/gm, '').replace(/^export /gm, '')
}
