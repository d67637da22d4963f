import { builtin } from '../../core/builtin.ts'
import type { Environment } from '../../core/operation.ts'
import { framedStyle } from '../../display/style.ts'

const files = builtin<typeof import('node:fs/promises')>('node:fs/promises')

/** A page that a host shows next to a tool's result (MCP Apps, 2026-01-26): one HTML document that loads no files. */
interface AppResource {
  uri: string
  name: string
  title: string
  description: string
  mimeType: 'text/html;profile=mcp-app'
  _meta: Record<string, unknown>
  read(): Promise<string>
}

/** The metadata with a view's address, once under the protocol's key and once under the key that older hosts read. */
type ToolUiMeta = {
  ui: { resourceUri: string }
  'ui/resourceUri': string
}

interface View {
  title: string
  description: string
  /** The line above the heading. */
  kind: string
  /** The heading until the first result arrives. */
  waiting: string
  /** The tools whose results the view shows. None of these tools ever returns a card's number. */
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
    description: 'An agent’s card and its purchases.',
    kind: 'Card for one purchase',
    waiting: 'Waiting for the card…',
    tools: ['issue_agent_card', 'get_agent_card'],
  },
  approval: {
    title: 'Approval',
    description: 'A payment that needs a decision.',
    kind: 'Payment in review',
    waiting: 'Waiting for the approval…',
    tools: ['get_approval', 'approve_approval', 'deny_approval'],
  },
} as const satisfies Record<string, View>

type ViewName = keyof typeof views

const byTool: ReadonlyMap<string, string> = new Map(
  Object.entries<View>(views).flatMap(([name, { tools }]) => tools.map((tool) => [tool, uriOf(name)] as const)),
)

/** Returns the `_meta` that links a tool to the view of its results; undefined if the tool has no view. */
export function toolUiMeta(toolName: string): ToolUiMeta | undefined {
  const resourceUri = byTool.get(toolName)
  return resourceUri === undefined ? undefined : { ui: { resourceUri }, 'ui/resourceUri': resourceUri }
}

/** Returns the views as MCP resources. In the sandbox, the views have buttons that simulate events. */
export function appResources(environment: Environment): readonly AppResource[] {
  return Object.entries<View>(views).map(([name, { title, description }]) => ({
    uri: uriOf(name),
    name,
    title,
    description,
    mimeType: 'text/html;profile=mcp-app',
    // Because these lists are empty, the view can contact only the host.
    _meta: { ui: { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true } },
    read: () => documentOf(name as ViewName, environment),
  }))
}

/** Returns the views, and the function that links tools to them, in the form that the MCP server expects. */
export function appViews(environment: Environment) {
  return { toolMeta: toolUiMeta, resources: appResources(environment) }
}

function uriOf(name: string): string {
  return `ui://payments/${name}`
}

/** The scripts that all views share. Each script comes after the scripts that it imports. */
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

/** Reads a file from the folder `views`, which is next to the running code in `src`, in `dist` and in the bundle. */
function readView(file: string): Promise<string> {
  return files().readFile(new URL(`./views/${file}`, import.meta.url), 'utf8')
}

/** Strips a script's imports and exports, because a view's scripts are joined into one module. */
function inOneModule(text: string): string {
  return text.replace(/^import [^']*'\.\/[^']+'\n/gm, '').replace(/^export /gm, '')
}
