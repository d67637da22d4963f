import { DatabaseSync } from 'node:sqlite'
import { newId, realSystem, sha256 } from '../src/core/system.ts'
import { openSandbox } from './sandbox.ts'

export type Value = string | number | null
export type Rows = Record<string, Value>[]

/** A statement to run, with `?` for its parameters; what runs it gives the rows back. */
export interface Statement {
  sql: string
  parameters: Value[]
  /** PostgreSQL only: on SQLite one transaction at a time may write. */
  lock?: true
}

/** Whom the authorizations of a database are for. */
export interface Caller {
  /** The SHA-256 of the agent key. */
  secretHash: string
  partyId: string
  agentId: string
}

/**
 * What the pipeline asks of the database for one approved authorization, without its savepoints: the clock and what is
 * due, the credential, the record of the key, the card, the permission, the wallet, then the effects and the answer.
 */
export function* authorization(caller: Caller, cardId: string): Generator<Statement, void, Rows> {
  const { secretHash, partyId, agentId } = caller
  const nowMs = Date.now()
  const id = newId('cit', realSystem, nowMs)
  const posting = newId('pst', realSystem, nowMs)
  yield { sql: texts.clock, parameters: [] }
  yield { sql: texts.credential, parameters: [secretHash] }
  yield { sql: texts.tryLock, parameters: [`idempotency ${partyId} ${id}`], lock: true }
  yield { sql: texts.record, parameters: [partyId, id] }
  yield { sql: texts.lock, parameters: [`party ${partyId}`], lock: true }
  const [card] = yield { sql: texts.card, parameters: [cardId, partyId] }
  const walletId = card?.walletId ?? null
  yield { sql: texts.permission, parameters: [walletId, agentId, 'cards.read'] }
  const [wallet] = yield { sql: texts.wallet, parameters: [walletId, partyId] }
  if (card === undefined || wallet === undefined) throw new Error(`The card ${cardId} or its wallet is missing.`)
  const owners = [id, partyId, walletId, cardId, 'purchase', null, 'Books', 1, 'USD', 'authorized', null]
  const state = [1, 0, 0, nowMs + 604_800_000, agentId, 'bench', 1, nowMs, nowMs]
  yield { sql: texts.insertTransaction, parameters: [...owners, ...state] }
  yield { sql: texts.updateCard, parameters: [nowMs, nowMs, Number(card.version) + 1, cardId, Number(card.version)] }
  const { availableCents, heldCents, version } = wallet
  const balances = [Number(availableCents) - 1, Number(heldCents) + 1, Number(version) + 1]
  yield { sql: texts.updateWallet, parameters: [...balances, walletId, Number(version)] }
  for (const [index, account] of (['available', 'held'] as const).entries()) {
    const amount = account === 'held' ? 1 : -1
    const entry = [`${posting}_${index}`, posting, account, walletId, amount, 'authorized', id, nowMs]
    yield { sql: texts.insertEntry, parameters: entry }
  }
  const [head] = yield { sql: texts.activityHead, parameters: [partyId] }
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
  yield { sql: texts.insertActivity, parameters: [...activity, ...cause, ...result] }
  yield { sql: texts.rootKeys, parameters: [] }
  const end = [sequence, String(result.at(-1)), sha256(`seal ${id}`)]
  yield { sql: texts.sealHead, parameters: [partyId, ...end, ...end] }
  const record = [fingerprint, 'finished', 200, answer, nowMs]
  yield { sql: texts.insertRecord, parameters: [partyId, id, ...record, ...record] }
}

const marks = (count: number) => Array(count).fill('?').join(', ')

const texts = {
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
  insertTransaction: `insert into "cardTransactions" ("id", "partyId", "walletId", "cardId", "kind", "purchaseId", "merchantName", "amountCents", "currency", "status", "declineCode", "heldCents", "capturedCents", "refundedCents", "holdExpiresAtMs", "agentId", "instanceId", "version", "createdAtMs", "updatedAtMs") values (${marks(20)})`,
  updateCard:
    'update "agentCards" set "usedAtMs" = ?, "updatedAtMs" = ?, "version" = ? where "id" = ? and "version" = ?',
  updateWallet:
    'update "wallets" set "availableCents" = ?, "heldCents" = ?, "version" = ? where "id" = ? and "version" = ?',
  insertEntry: `insert into "ledgerEntries" ("id", "postingId", "account", "walletId", "amountCents", "reason", "sourceId", "createdAtMs") values (${marks(8)})`,
  activityHead: 'select * from "activityHeads" where "partyId" = ?',
  rootKeys: 'select * from "rootKeys" order by "id" desc',
  sealHead:
    'insert into "activityHeads" ("partyId", "sequence", "hash", "seal") values (?, ?, ?, ?) on conflict ("partyId") do update set "sequence" = ?, "hash" = ?, "seal" = ?',
  insertActivity: `insert into "activity" ("id", "partyId", "sequence", "operation", "actorType", "agentId", "userId", "keyId", "instanceId", "customerPartyId", "resourceIds", "status", "code", "createdAtMs", "previousHash", "hash") values (${marks(16)}) on conflict ("partyId", "sequence") do nothing`,
  insertRecord: `insert into "idempotencyRecords" ("partyId", "key", "fingerprint", "state", "status", "body", "finishedAtMs") values (${marks(7)}) on conflict ("partyId", "key") do update set "fingerprint" = ?, "state" = ?, "status" = ?, "body" = ?, "finishedAtMs" = ?`,
}

const fingerprint = sha256('fingerprint')
/** As long as a recorded answer. */
const answer = JSON.stringify({ data: 'x'.repeat(960) })

/** Reads whom the seeded agent's key is for, by a function that runs one query. */
export const callerQuery = `select "secretHash", "partyId", "agentId" from "credentials" where "agentId" is not null`

/**
 * What the pipeline really runs that is not in the list above, or the other way round; nothing when the two agree.
 * Found out by listening to the driver during one authorization.
 */
export async function differences(): Promise<string[]> {
  const ran = await statementsOfOneAuthorization()
  const steps = authorization({ secretHash: '', partyId: '', agentId: '' }, '')
  const listed: string[] = []
  const row = { walletId: '', version: 1, availableCents: 1, heldCents: 0 }
  for (let step = steps.next(); !step.done; step = steps.next([row])) {
    if (step.value.lock === undefined) listed.push(step.value.sql)
  }
  return [
    ...ran.filter((sql) => !listed.includes(sql)).map((sql) => `only the service runs: ${sql}`),
    ...listed.filter((sql) => !ran.includes(sql)).map((sql) => `only the bench runs: ${sql}`),
  ]
}

async function statementsOfOneAuthorization(): Promise<string[]> {
  const { prepare } = DatabaseSync.prototype
  const ran: string[] = []
  let listening = false
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
    const statement = prepare.call(this, sql)
    for (const method of ['all', 'run'] as const) {
      const original = statement[method].bind(statement) as (...parameters: Value[]) => unknown
      const heard = (...parameters: Value[]) => {
        if (listening && !/^(begin|commit|savepoint|release)/.test(sql)) ran.push(sql)
        return original(...parameters)
      }
      Object.assign(statement, { [method]: heard })
    }
    return statement
  }
  const sandbox = await openSandbox('sqlite::memory:')
  try {
    const cardId = await sandbox.issueCard()
    listening = true
    const response = await sandbox.service.fetch(authorizationRequest(sandbox, cardId))
    if (response.status !== 200) throw new Error(await response.text())
    return ran
  } finally {
    listening = false
    await sandbox.close()
    DatabaseSync.prototype.prepare = prepare
  }
}

/** One cent, so that the seeded wallet's 250,000 last for the whole run. */
export function authorizationRequest(sandbox: Awaited<ReturnType<typeof openSandbox>>, cardId: string): Request {
  const attributes = { amount: 1, currency: 'USD', merchant: { name: 'Books' } }
  return sandbox.request('POST', `/simulations/agent-cards/${cardId}/authorize`, attributes)
}
