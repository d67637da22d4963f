import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { tables } from '../../src/service/store/schema/tables.ts'

/** Checks which files of the store query which tables. Each rule proves on a bad sample that it can fail. */

const folder = fileURLToPath(new URL('../../src/service/store/', import.meta.url))
const files = new Map(
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => [path.replaceAll('\\', '/'), readFileSync(folder + path, 'utf8')]),
)

/** The file that may query each table: it has the same name as the file that declares the table. */
const homes = new Map(
  Object.keys(tables).map((table) => {
    const declaration = [...files].find(([path, text]) => path.startsWith('schema/') && declares(text, table))
    return [table, declaration?.[0].replace('schema/', '') ?? 'no file']
  }),
)

/** Tables whose columns another file may read in a query of its own table: each is a join by an id. */
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

/** Tables whose whole rows another file may select, because it concerns both tables. */
const alsoSelected: Record<string, readonly string[]> = {
  // An event may concern any record, which is found by its id.
  'event-records.ts': ['parties', 'complianceCases', 'delegations'],
  // An agent's cards end when the agent is deleted. One statement decides on a purchase.
  'agent-cards.ts': ['agents'],
  // A party that pays is read together with its wallet and the agent that pays.
  'wallets.ts': ['parties', 'agents'],
  'mcp-changes.ts': ['activity'],
  // The chart of runs is filtered by the agent and the program of the runs.
  'run-minutes.ts': ['runs'],
  // It searches the texts of all runs.
  'run-search.ts': ['runEntries'],
  // The rows of a command are read together with its party's, the credential and the time.
  'command-rows.ts': ['parties', 'credentials', 'clock'],
  // The probe of write access leaves no row behind.
  'write-probe.ts': ['mcpMail'],
  // `doctor` reads them in one read-only transaction.
  'engine/inspection.ts': ['clock', 'world', 'deployment', 'credentials', 'failedEffects', 'rootKeys'],
}

function foreignTables(path: string, text: string): string[] {
  const named = [...text.matchAll(/\b(selectFrom|insertInto|inserting|updateTable|deleteFrom|\w+Join)\(\s*'(\w+)/g)]
  return named.flatMap(([, verb = '', table = '']) => {
    // Any other name is not a table but another part of the statement.
    if (!homes.has(table) || homes.get(table) === path || alsoSelected[path]?.includes(table)) return []
    if (verb.endsWith('Join') && joined[path]?.includes(table)) return []
    return [`${path} names the table ${table}: ask for it in ${homes.get(table)}`]
  })
}

const ddl = /\b(createTable|alterTable|dropTable|createIndex|dropIndex)\(|`\s*(create|alter|drop)\s/
const rooms = ['engine', 'schema']

function upward(path: string, text: string): string[] {
  const [room = ''] = path.split('/')
  const below = room === 'schema' ? /'\.\.\/(\w[\w-]*\.ts|engine\/[^']*)'/g : /'\.\.\/(\w[\w-]*\.ts)'/g
  return rooms.includes(room) ? [...text.matchAll(below)].map(([, from]) => `${path} imports ${from}`) : []
}

describe('in the store', () => {
  test('one file queries each table', () => {
    const queried = [...files].filter(([path]) => !path.startsWith('schema/'))
    expect(queried.flatMap(([path, text]) => foreignTables(path, text))).toEqual([])
    expect(foreignTables('wallets.ts', "db.selectFrom('payments')")).toEqual([
      'wallets.ts names the table payments: ask for it in payments.ts',
    ])
  })

  test('only the schema writes DDL', () => {
    const writing = [...files].filter(([path, text]) => ddl.test(text) && !path.startsWith('schema/'))
    expect(writing.map(([path]) => path)).toEqual([])
    expect(ddl.test("db.schema.createTable('agents')")).toBe(true)
    expect(ddl.test('sql`drop table agents`')).toBe(true)
  })

  test('the engine and the schema import no file of a table, and the schema imports no engine', () => {
    expect([...files].flatMap(([path, text]) => upward(path, text))).toEqual([])
    expect(upward('engine/open.ts', "import { a } from '../agents.ts'")).toEqual(['engine/open.ts imports agents.ts'])
    expect(upward('schema/agents.ts', "import { a } from '../engine/page.ts'")).toHaveLength(1)
  })
})
