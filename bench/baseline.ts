import { newId, realSystem, sha256 } from '../src/core/system.ts'

export type Value = string | number | null
export type Rows = Record<string, Value>[]

/** A SQL statement with a `?` for each parameter. */
export interface Statement {
  sql: string
  parameters: Value[]
  /**
   * True if the statement only takes a lock. On SQLite, it is skipped, because SQLite allows only one write transaction
   * at a time.
   */
  lock?: true
}

/** A party with one agent, one wallet and cards. Each authorization uses up one of the cards. */
export type Caller = ReturnType<typeof createCaller>

interface Table {
  /** The column names. Columns that end in `Ms`, `Cents` or `:bigint` hold integers; all others hold strings. */
  columns: string
  key: string
  indexes: readonly string[]
}

/**
 * The tables of the baseline: the tables that an authorization used in November 2026. `subscriptions` and
 * `customerInvitations` stay empty, because an authorization only reads their earliest due times.
 */
const tables: Readonly<Record<string, Table>> = {
  clock: { columns: 'id:bigint offsetMs epoch:bigint highestMs', key: 'id', indexes: [] },
  credentials: {
    columns:
      'id kind partyId agentId name secretHash displayPrefix scopes seeded:bigint revokedAtMs expiresAtMs ' +
      'createdAtMs userId tags createdBy revokedBy lastUsedAtMs',
    key: 'id',
    indexes: ['unique secretHash', 'partyId kind id', 'agentId id'],
  },
  agents: {
    columns:
      'id partyId name description handle status createdBy createdAtMs tags slug limits updatedBy ' +
      'updatedAtMs lastActiveAtMs',
    key: 'id',
    indexes: ['partyId id', 'unique handle'],
  },
  agentCards: {
    columns:
      'id partyId walletId agentId instanceId merchantName currency version:bigint maximumAmountCents ' +
      'expiresAtMs usedAtMs createdAtMs updatedAtMs frozenAtMs',
    key: 'id',
    indexes: ['partyId id', 'agentId id', 'agentId expiresAtMs where usedAtMs is null'],
  },
  walletPermissions: { columns: 'walletId agentId permission', key: 'walletId agentId permission', indexes: [] },
  wallets: {
    columns:
      'id partyId displayName description status walletType tags currency isDefault:bigint version:bigint ' +
      'availableCents heldCents createdAtMs',
    key: 'id',
    indexes: ['partyId id'],
  },
  rootKeys: { columns: 'secret id:bigint createdAtMs', key: 'id', indexes: [] },
  activityHeads: { columns: 'partyId hash seal sequence:bigint', key: 'partyId', indexes: [] },
  activity: {
    columns:
      'id partyId operation actorType agentId userId keyId instanceId customerPartyId resourceIds code ' +
      'previousHash hash status:bigint sequence:bigint createdAtMs',
    key: 'id',
    indexes: ['partyId instanceId sequence', 'unique partyId sequence'],
  },
  idempotencyRecords: {
    columns: 'partyId key fingerprint state body status:bigint finishedAtMs',
    key: 'partyId key',
    indexes: ['finishedAtMs'],
  },
  cardTransactions: {
    columns:
      'id partyId walletId cardId kind purchaseId merchantName currency status declineCode agentId ' +
      'instanceId version:bigint amountCents heldCents capturedCents refundedCents holdExpiresAtMs ' +
      'createdAtMs updatedAtMs',
    key: 'id',
    indexes: ['partyId id', 'cardId id', 'holdExpiresAtMs where holdExpiresAtMs is not null', 'partyId createdAtMs'],
  },
  ledgerEntries: {
    columns: 'id postingId account walletId reason sourceId amountCents createdAtMs',
    key: 'id',
    indexes: ['walletId'],
  },
  subscriptions: { columns: 'id nextEventAtMs', key: 'id', indexes: ['nextEventAtMs id'] },
  customerInvitations: {
    columns: 'id pendingUntilMs',
    key: 'id',
    indexes: ['pendingUntilMs where pendingUntilMs is not null'],
  },
}

const quoted = (names: string, separator = ', ') => names.replaceAll(/\w+/g, '"$&"').replaceAll(' ', separator)

/** The SQL that creates the baseline's tables. They stay the same when later versions of the service change theirs. */
export const baselineTables = Object.entries(tables)
  .flatMap(([table, { columns, key, indexes }]) => {
    const typed = columns.split(' ').map((column) => {
      const [name = '', type = /(Ms|Cents)$/.test(column) ? 'bigint' : 'text'] = column.split(':')
      return `"${name}" ${type}`
    })
    return [
      `create table "${table}" (${typed.join(', ')}, primary key (${quoted(key)}))`,
      ...indexes.map((index, number) => {
        const [, unique = '', names = '', column, where = ''] =
          /^(unique )?(.*?)(?: where (\w+)(.*))?$/.exec(index) ?? []
        const only = column === undefined ? '' : ` where "${column}"${where}`
        return `create ${unique}index "${table}_${number}" on "${table}" (${quoted(names)})${only}`
      }),
    ]
  })
  .join(';\n')

const manyCents = 1_000_000_000_000

/**
 * Creates one caller for each number in `cardCounts`, with that many cards. Returns the callers, and the statements
 * that fill the tables for them.
 */
export function baselineRows(cardCounts: readonly number[]): { callers: Caller[]; statements: Statement[] } {
  const nowMs = Date.now()
  const callers = cardCounts.map((count) => createCaller(count, nowMs))
  const rows = {
    clock: [{ id: 1, offsetMs: 0, epoch: 0, highestMs: 0 }],
    rootKeys: [{ id: 1, secret: sha256('root'), createdAtMs: nowMs }],
    ...rowsOf(callers, nowMs),
  }
  const statements = Object.entries(rows).flatMap(([table, all]) => insertions(table, all))
  return { callers, statements }
}

function createCaller(count: number, nowMs: number) {
  const id = (prefix: string) => newId(prefix, realSystem, nowMs)
  const owner = { partyId: id('pty'), agentId: id('agt'), walletId: id('wal') }
  return { secretHash: sha256(owner.agentId), ...owner, cards: Array.from({ length: count }, () => id('pcd')) }
}

function rowsOf(callers: readonly Caller[], nowMs: number): Record<string, Record<string, Value>[]> {
  const common = { createdAtMs: nowMs }
  const agent = { name: 'Shopper', status: 'ACTIVE', tags: '{}', ...common }
  const credential = { kind: 'agent_key', displayPrefix: 'ak', seeded: 0, tags: '{}', ...common }
  const wallet = { status: 'active', walletType: 'standard', tags: '{}', currency: 'USD', isDefault: 1, version: 1 }
  const card = { merchantName: 'Books', currency: 'USD', version: 1, maximumAmountCents: 100, ...common }
  const cardTimes = { expiresAtMs: nowMs + 86_400_000, updatedAtMs: nowMs }
  return {
    agents: callers.map(({ partyId, agentId }) => ({ id: agentId, partyId, ...agent })),
    credentials: callers.map(({ secretHash, partyId, agentId }) => {
      return { id: agentId.replace('agt', 'agk'), partyId, agentId, secretHash, ...credential }
    }),
    wallets: callers.map(({ partyId, walletId }) => {
      return { id: walletId, partyId, ...wallet, availableCents: manyCents, heldCents: 0, ...common }
    }),
    walletPermissions: callers.map(({ walletId, agentId }) => ({ walletId, agentId, permission: 'cards.read' })),
    agentCards: callers.flatMap(({ partyId, walletId, agentId, cards }) =>
      cards.map((id) => ({ id, partyId, walletId, agentId, ...card, ...cardTimes })),
    ),
  }
}

/**
 * Returns statements that insert up to 100 rows each, because SQLite allows at most 32,766 parameters per statement.
 */
function insertions(table: string, rows: readonly Record<string, Value>[]): Statement[] {
  const columns = Object.keys(rows[0] ?? {})
  const into = `insert into "${table}" (${columns.map((column) => `"${column}"`).join(', ')}) values`
  return Array.from({ length: Math.ceil(rows.length / 100) }, (_, index) => {
    const batch = rows.slice(index * 100, (index + 1) * 100)
    const sql = `${into} ${batch.map(() => `(${placeholders(columns.length)})`).join(', ')}`
    return { sql, parameters: batch.flatMap((row) => Object.values(row)) }
  })
}

/**
 * Yields the statements that the service ran in November 2026 for one approved authorization, except those that begin
 * or end transactions and savepoints. The statements stay the same, so that every later version of the service is
 * compared with the same work. The code that iterates over the generator runs each statement and passes the resulting
 * rows to `next()`.
 */
export function* authorization(caller: Caller, cardId: string): Generator<Statement, void, Rows> {
  const { secretHash, partyId, agentId } = caller
  const nowMs = Date.now()
  const id = newId('cit', realSystem, nowMs)
  const posting = newId('pst', realSystem, nowMs)
  yield { sql: queries.clock, parameters: [] }
  yield { sql: queries.credential, parameters: [secretHash] }
  yield { sql: queries.tryLock, parameters: [`idempotency ${partyId} ${id}`], lock: true }
  yield { sql: queries.record, parameters: [partyId, id] }
  yield { sql: queries.lock, parameters: [`party ${partyId}`], lock: true }
  const [card] = yield { sql: queries.card, parameters: [cardId, partyId] }
  const walletId = card?.walletId ?? null
  yield { sql: queries.permission, parameters: [walletId, agentId, 'cards.read'] }
  const [wallet] = yield { sql: queries.wallet, parameters: [walletId, partyId] }
  if (card === undefined || wallet === undefined) throw new Error(`The card ${cardId} or its wallet is missing.`)
  const owners = [id, partyId, walletId, cardId, 'purchase', null, 'Books', 1, 'USD', 'authorized', null]
  const state = [1, 0, 0, nowMs + 604_800_000, agentId, 'bench', 1, nowMs, nowMs]
  yield { sql: queries.insertTransaction, parameters: [...owners, ...state] }
  yield { sql: queries.updateCard, parameters: [nowMs, nowMs, Number(card.version) + 1, cardId, Number(card.version)] }
  const { availableCents, heldCents, version } = wallet
  const balances = [Number(availableCents) - 1, Number(heldCents) + 1, Number(version) + 1]
  yield { sql: queries.updateWallet, parameters: [...balances, walletId, Number(version)] }
  for (const [index, account] of (['available', 'held'] as const).entries()) {
    const amount = account === 'held' ? 1 : -1
    const entry = [`${posting}_${index}`, posting, account, walletId, amount, 'authorized', id, nowMs]
    yield { sql: queries.insertEntry, parameters: entry }
  }
  const [head] = yield { sql: queries.activityHead, parameters: [partyId] }
  const sequence = Number(head?.sequence ?? 0) + 1
  const activity = [
    newId('act', realSystem, nowMs),
    partyId,
    sequence,
    'simulate_card_authorization',
    'agent',
    agentId,
    null,
  ]
  const result = [200, null, nowMs, head?.hash ?? '', sha256(`${head?.hash} ${id}`)]
  const cause = [secretHash.slice(0, 36), 'bench', null, JSON.stringify([id])]
  yield { sql: queries.insertActivity, parameters: [...activity, ...cause, ...result] }
  yield { sql: queries.rootKeys, parameters: [] }
  const end = [sequence, String(result.at(-1)), sha256(`seal ${id}`)]
  yield { sql: queries.sealHead, parameters: [partyId, ...end, ...end] }
  const record = [fingerprint, 'finished', 200, answer, nowMs]
  yield { sql: queries.insertRecord, parameters: [partyId, id, ...record, ...record] }
}

const placeholders = (count: number) => Array(count).fill('?').join(', ')

const queries = {
  clock:
    'select "offsetMs", "highestMs", "epoch", null as "databaseNowMs", (select min("holdExpiresAtMs") as "min" from "cardTransactions" where "holdExpiresAtMs" is not null) as "nextHoldExpiresAtMs", (select min("nextEventAtMs") as "min" from "subscriptions") as "nextSubscriptionEventAtMs", (select min("pendingUntilMs") as "min" from "customerInvitations" where "pendingUntilMs" is not null) as "nextInvitationExpiresAtMs", (select max("finishedAtMs") as "max" from "idempotencyRecords") as "lastFinishedAtMs" from "clock"',
  credential:
    'select "credentials".*, "agents"."status" as "agentStatus" from "credentials" left join "agents" on "agents"."id" = "credentials"."agentId" where "secretHash" = ?',
  tryLock: 'select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as taken',
  record: 'select * from "idempotencyRecords" where "partyId" = ? and "key" = ?',
  lock: 'select pg_advisory_xact_lock(hashtextextended(?, 0))',
  card: 'select * from "agentCards" where "id" = ? and "partyId" = ?',
  permission:
    'select "permission" from "walletPermissions" where "walletId" = ? and "agentId" = ? and "permission" = ?',
  wallet: 'select * from "wallets" where "id" = ? and "partyId" = ?',
  insertTransaction: `insert into "cardTransactions" ("id", "partyId", "walletId", "cardId", "kind", "purchaseId", "merchantName", "amountCents", "currency", "status", "declineCode", "heldCents", "capturedCents", "refundedCents", "holdExpiresAtMs", "agentId", "instanceId", "version", "createdAtMs", "updatedAtMs") values (${placeholders(20)})`,
  updateCard:
    'update "agentCards" set "usedAtMs" = ?, "updatedAtMs" = ?, "version" = ? where "id" = ? and "version" = ?',
  updateWallet:
    'update "wallets" set "availableCents" = ?, "heldCents" = ?, "version" = ? where "id" = ? and "version" = ?',
  insertEntry: `insert into "ledgerEntries" ("id", "postingId", "account", "walletId", "amountCents", "reason", "sourceId", "createdAtMs") values (${placeholders(8)})`,
  activityHead: 'select * from "activityHeads" where "partyId" = ?',
  rootKeys: 'select * from "rootKeys" order by "id" desc',
  sealHead:
    'insert into "activityHeads" ("partyId", "sequence", "hash", "seal") values (?, ?, ?, ?) on conflict ("partyId") do update set "sequence" = ?, "hash" = ?, "seal" = ?',
  insertActivity: `insert into "activity" ("id", "partyId", "sequence", "operation", "actorType", "agentId", "userId", "keyId", "instanceId", "customerPartyId", "resourceIds", "status", "code", "createdAtMs", "previousHash", "hash") values (${placeholders(16)}) on conflict ("partyId", "sequence") do nothing`,
  insertRecord: `insert into "idempotencyRecords" ("partyId", "key", "fingerprint", "state", "status", "body", "finishedAtMs") values (${placeholders(7)}) on conflict ("partyId", "key") do update set "fingerprint" = ?, "state" = ?, "status" = ?, "body" = ?, "finishedAtMs" = ?`,
}

const fingerprint = sha256('fingerprint')
/** A string about as long as the answer that the service stores in an idempotency record. */
const answer = JSON.stringify({ data: 'x'.repeat(960) })
