import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { tables } from '../../src/service/store/schema/tables.ts'

/**
 * Checks which tables the files of the store query, which files contain DDL, and what the lower folders import. Each
 * test also checks invalid samples, which proves that the test can fail.
 */

const folder = fileURLToPath(new URL('../../src/service/store/', import.meta.url))
const files = new Map(
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => [path.replaceAll('\\', '/'), readFileSync(folder + path, 'utf8')]),
)

/**
 * For each table, the file that may query it. This file has the same name as the file in `schema/` that declares the
 * table.
 */
const queryFiles = new Map(
  Object.keys(tables).map((table) => {
    const declaration = [...files].find(([path, text]) => path.startsWith('schema/') && declares(text, table))
    return [table, declaration?.[0].replace('schema/', '') ?? 'no file']
  }),
)

/** For each file, the tables of other files that it may join to its own table. All of these joins are by an id. */
const joined: Record<string, readonly string[]> = {
  'access-tokens.ts': ['credentials', 'agents'],
  'agent-cards.ts': ['wallets', 'walletPermissions'],
  'approvals.ts': ['payments', 'agents'],
  'command-rows.ts': ['partyHeads', 'idempotencyRecords', 'agents'],
  'credentials.ts': ['agents'],
  'customer-invitations.ts': ['parties', 'agents'],
  'delegations.ts': ['parties', 'agents'],
  'invitation-links.ts': ['parties'],
  'oauth-grants.ts': ['agents'],
  'party-invitations.ts': ['parties'],
  'users.ts': ['passwords'],
  'wallet-agents.ts': ['agents'],
  'wallets.ts': ['walletAgents', 'walletPermissions'],
  'webhooks.ts': ['partyHeads'],
}

function declares(text: string, table: string): boolean {
  return text.includes(`export const ${table} = table(`)
}

/** For each file, the tables of other files that it may query in any way. */
const alsoSelected: Record<string, readonly string[]> = {
  // An event may concern a row of any of these tables. The row is found by its id.
  'event-records.ts': ['parties', 'complianceCases', 'delegations'],
  // One statement reads the card, the wallet and the agent of a purchase.
  'agent-cards.ts': ['agents'],
  // One statement reads the wallet, the party and the agent of a payment.
  'wallets.ts': ['parties', 'agents'],
  'mcp-changes.ts': ['activity'],
  // The chart of runs can be filtered by agent and program, which are columns of `runs`.
  'run-minutes.ts': ['runs'],
  // The search reads the entries of all runs.
  'run-search.ts': ['runEntries'],
  // One statement reads the idempotency record, the party and the credential of a command, and the time.
  'command-rows.ts': ['parties', 'credentials', 'clock'],
  // The check for write access inserts a row and deletes it again.
  'write-probe.ts': ['mcpMail'],
  // The `doctor` command reads these tables in one read-only transaction.
  'engine/inspection.ts': ['clock', 'world', 'deployment', 'credentials', 'failedEffects', 'rootKeys'],
}

function foreignTables(path: string, text: string): string[] {
  const named = [
    ...text.matchAll(/\b(selectFrom|insertInto|preparedInsert|updateTable|deleteFrom|\w+Join)\(\s*'(\w+)/g),
  ]
  return named.flatMap(([, verb = '', table = '']) => {
    // A name that is not in `queryFiles` is not a table but, for example, a common table expression.
    if (!queryFiles.has(table) || queryFiles.get(table) === path || alsoSelected[path]?.includes(table)) return []
    if (verb.endsWith('Join') && joined[path]?.includes(table)) return []
    return [`${path} queries the table ${table}: move the query to ${queryFiles.get(table)}`]
  })
}

const ddl = /\b(createTable|alterTable|dropTable|createIndex|dropIndex)\(|`\s*(create|alter|drop)\s/
const lowerFolders = ['engine', 'schema']

function forbiddenImports(path: string, text: string): string[] {
  const [top = ''] = path.split('/')
  const forbidden = top === 'schema' ? /'\.\.\/(\w[\w-]*\.ts|engine\/[^']*)'/g : /'\.\.\/(\w[\w-]*\.ts)'/g
  return lowerFolders.includes(top) ? [...text.matchAll(forbidden)].map(([, from]) => `${path} imports ${from}`) : []
}

describe('the source files of the store', () => {
  test('each table is queried only by its own file and by the listed exceptions', () => {
    const queried = [...files].filter(([path]) => !path.startsWith('schema/'))
    expect(queried.flatMap(([path, text]) => foreignTables(path, text))).toEqual([])
    expect(foreignTables('wallets.ts', "db.selectFrom('payments')")).toEqual([
      'wallets.ts queries the table payments: move the query to payments.ts',
    ])
  })

  test('only the files of the schema contain DDL', () => {
    const writing = [...files].filter(([path, text]) => ddl.test(text) && !path.startsWith('schema/'))
    expect(writing.map(([path]) => path)).toEqual([])
    expect(ddl.test("db.schema.createTable('agents')")).toBe(true)
    expect(ddl.test('sql`drop table agents`')).toBe(true)
  })

  test('the engine and the schema import no files that query tables, and the schema imports no engine files', () => {
    expect([...files].flatMap(([path, text]) => forbiddenImports(path, text))).toEqual([])
    expect(forbiddenImports('engine/open.ts', "import { a } from '../agents.ts'")).toEqual([
      'engine/open.ts imports agents.ts',
    ])
    expect(forbiddenImports('schema/agents.ts', "import { a } from '../engine/page.ts'")).toHaveLength(1)
  })
})
