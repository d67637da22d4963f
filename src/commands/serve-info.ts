import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server'
import manifest from '../../package.json' with { type: 'json' }
import type { Config } from '../config/settings.ts'
import { modernVersion } from '../core/mcp-versions.ts'
import type { About } from '../openapi/discovery.ts'
import { startCommand } from './start-command.ts'
import { version } from './version.ts'
import { absoluteDatabase } from './welcome.ts'

/** Returns the facts about this server that its pages and documents show. */
export function serveInfo({ toolsets, readOnly, environment, databaseUrl, secret }: Config): About {
  // A start command is shown only if the database is a file. A second process cannot share a database in memory, and
  // the URL of any other database may contain a password.
  const isFile = /^sqlite:(?!:memory:$)/.test(databaseUrl)
  const canStart = environment === 'sandbox' && secret === undefined && isFile
  return {
    name: manifest.mcpName,
    version,
    protocolVersions: [modernVersion, ...SUPPORTED_PROTOCOL_VERSIONS],
    toolsets,
    readOnly,
    start: canStart ? startCommand({ PAYMENTS_DATABASE_URL: absoluteDatabase(databaseUrl) }) : undefined,
  }
}
