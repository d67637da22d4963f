import { catalogue } from '../../tools/index.ts'
import type { Start } from '../core/host-setups.ts'
import { camelCase, type Environment, type OperationDefinition, onlyReads, type Toolset } from '../core/operation.ts'
import { displayName, firstQuestion, shortDescription } from '../core/product.ts'
import { tagOf } from './document.ts'

/** The public facts about a deployment. */
export interface About {
  /** The server's name in the MCP Registry. */
  name: string
  version: string
  protocolVersions: readonly string[]
  /** The toolsets that a host gets if it chooses none. */
  toolsets: readonly Toolset[]
  readOnly: boolean
  /**
   * The command with which a host on this machine can start an MCP server for the same sandbox; undefined if there is
   * no such command.
   */
  start?: Start | undefined
}

interface Deployment {
  environment: Environment
  /** The public address, without a trailing slash. */
  publicUrl: string
  about: About
}

/** The URL of the schema of MCP server cards (SEP-2127, an extension of MCP). The only version so far is version 1. */
const cardSchema = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json'

export const mediaTypes = {
  serverCard: 'application/mcp-server-card+json',
  aiCatalog: 'application/ai-catalog+json',
  openApi: 'application/openapi+json',
} as const

/**
 * Builds the MCP server card, which describes how a host connects. The card lists no tools, because hosts request the
 * list of tools after they have connected.
 */
export function serverCard({ publicUrl, about }: Deployment) {
  return {
    $schema: cardSchema,
    name: about.name,
    version: about.version,
    // The MCP server tells connected hosts the same title (src/mcp/server.ts).
    title: displayName,
    description: shortDescription,
    websiteUrl: `${publicUrl}/`,
    icons: [{ src: `${publicUrl}/favicon.svg`, mimeType: 'image/svg+xml', sizes: ['any'] }],
    remotes: [
      { type: 'streamable-http', url: `${publicUrl}/mcp`, supportedProtocolVersions: [...about.protocolVersions] },
    ],
  }
}

/**
 * Builds the list of this site's services (AI Catalog 1.0). With the list, a program that knows only the host name
 * can find the services.
 */
export function aiCatalog({ environment, publicUrl, about }: Deployment) {
  const { hostname } = new URL(publicUrl)
  // The host name of a URL has brackets around an IPv6 address, but a URN must not contain brackets.
  const identifier = (kind: string) => `urn:air:${hostname.replace(/[[\]]/g, '').replaceAll(':', '-')}:${kind}:payments`
  return {
    specVersion: '1.0',
    host: { displayName: titleIn(environment), documentationUrl: `${publicUrl}/docs` },
    entries: [
      {
        identifier: identifier('mcp'),
        displayName: titleIn(environment),
        description: shortDescription,
        version: about.version,
        type: mediaTypes.serverCard,
        url: `${publicUrl}/mcp/server-card`,
      },
      {
        identifier: identifier('openapi'),
        displayName: `${titleIn(environment)} API`,
        description: 'The same operations as a REST API.',
        type: mediaTypes.openApi,
        url: `${publicUrl}/openapi.json`,
      },
    ],
  }
}

/** Builds a description of the service for models, in Markdown (llmstxt.org). */
export function llmsText({ environment, publicUrl, about }: Deployment): string {
  const operations = Object.values<OperationDefinition>(catalogue).filter(
    (operation) => operation.environments.includes(environment) && (!about.readOnly || onlyReads(operation)),
  )
  const isOffered = ({ toolsets }: OperationDefinition) => about.toolsets.some((toolset) => toolsets.includes(toolset))
  const line = (operation: OperationDefinition) =>
    `- [${operation.name}](${publicUrl}/docs#/${tagOf(operation)}/${camelCase(operation.name)}): ${operation.description}`
  const optional = operations.filter((operation) => !isOffered(operation))
  return `# ${titleIn(environment)}

> ${shortDescription}

${environment === 'sandbox' ? 'This is the sandbox: no real money moves.' : 'This is production: real money moves.'} Amounts are integers in cents. Connect over MCP (streamable HTTP) at ${publicUrl}/mcp and sign in with OAuth, or send a key as a bearer token. Then ask, for instance: “${firstQuestion}”

## Connecting

- [MCP server card](${publicUrl}/mcp/server-card): how a host connects, and to which address
- [For people](${publicUrl}/): how to configure each AI host
- [REST API](${publicUrl}/openapi.json): the operations of the tools below, as an OpenAPI 3.1 document
- [API documentation](${publicUrl}/docs): the same operations, as a web page

## Tools

${operations.filter(isOffered).map(line).join('\n')}
${
  optional.length === 0
    ? ''
    : `
## Optional

Connect to ${publicUrl}/mcp/x/{toolset} for the tools of one toolset, or to ${publicUrl}/mcp/x/all for all tools.

${optional.map((operation) => `${line(operation)} (${operation.toolsets.join(', ')})`).join('\n')}
`
}`
}

export function titleIn(environment: Environment): string {
  return environment === 'sandbox' ? `${displayName} (sandbox)` : displayName
}
