import { DatabaseSync } from 'node:sqlite'
import { keyOf, type Table } from '../../src/service/store/schema/table.ts'
import { tables } from '../../src/service/store/schema/tables.ts'

/** Records every statement that SQLite prepares, until `stop` is called. */
export function recordStatements(): { texts: ReadonlySet<string>; stop(): void } {
  const texts = new Set<string>()
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, text: string) {
    texts.add(text)
    return prepare.call(this, text)
  }
  return {
    texts,
    stop: () => {
      DatabaseSync.prototype.prepare = prepare
    },
  }
}

/** Returns the tables with parties' rows that a statement reads without naming the party. */
export function tablesWithoutParty(text: string): string[] {
  const uses = [...text.matchAll(/\b(from|join|update|into) "(\w+)"(?: as "(\w+)")?/g)]
  return uses.flatMap(([, verb, table = '', alias = table]) => {
    const declared: Table | undefined = tables[table as keyof typeof tables]
    const partyColumn = declared && keyOf('postgres', declared)[0]
    if (partyColumn === undefined || !/partyId$/i.test(partyColumn)) return []
    const column = `(?:"${alias}"\\.)?"${partyColumn}"`
    const pattern = verb === 'into' ? `"${table}" \\([^)]*${column}` : `${column} (?:=|in) |= ${column}`
    return new RegExp(pattern).test(text) ? [] : [table]
  })
}

/** The queries that may read all parties' rows, each with its reason. All of them use an index. */
const unrestrictedStatements: readonly (readonly [beginning: RegExp, reason: string])[] = [
  [/^select "clock"\."offsetMs"/, 'the clock, and what is due next, are common to all'],
  [
    /^select "partyId" from \(select \* from \(\(select "id", "partyId", "(holdExpiresAtMs|nextEventAtMs)"/,
    'finds the parties with due effects',
  ],
  [/^select "credentials"\.\*.* where "(secretHash|credentials"\."id)" = \?$/, 'a credential names its party'],
  [/^select "oauthGrants"\.\*.* where "oauthGrants"\."(id|userId)" = \?/, 'a token names its grant'],
  [
    /^select \* from "(users|agents)" where "(id|handle|email)" = \?$/,
    'they are on every machine, found by other parties too',
  ],
  [/^select \* from "payments" where "id" = \?$/, 'the recipient of a payment asks for it by its id only'],
  [
    /^select \* from "paymentRequests" where "(id" = \?$|payerValue")/,
    'the payer asks for a request by its id, or as a new party by its address',
  ],
  [/^select \* from "paymentRequests" where "\w+"\."id" in \(select/, 'a list of the requests to one payer'],
  [/^select \* from "users" where "email" = \? and "status" = \?$/, 'a person signs in before their party is known'],
  [/^(delete from "oauthRecords"|update "oauthGrants") .*"userId" = \?/, 'the grants of a member who is removed'],
  [/^update "webhookDeliveries" set .* where "dueAtMs" is not null$/, 'a reset cancels the pending deliveries'],
  [
    /^select sum\("heldCents"\).* from "payments" where "claimant" in/,
    'payments of all parties to one person without an account',
  ],
  [
    /^select \* from "transactions" where "(id|sourcePartyId|destinationPartyId)" = \?/,
    'a transaction has two parties',
  ],
  [
    /^select (distinct )?.* from "delegations" where \(?"agentPartyId" = \?/,
    'an agent asks for its customers, whoever they are',
  ],
  [
    /^select \* from "(transactions|agentCards|cardTransactions)" where "\w+"\."id" in \(select/,
    'a list is walked by the wallets and agents of its party, whose ids were read with it',
  ],
  [
    /^select distinct "customerPartyId" as "id" from "delegations"/,
    'an agent asks for its customers, whoever they are',
  ],
  [/^insert into "snapshotRows" .* select|^delete from "\w+"$/, 'the whole world is saved, or deleted for another'],
  [/^insert into "\w+" \(.*\) select .* from "snapshotRows" as part/, 'the whole world is restored'],
  [/^select "one"\."recipient"/, 'an agent asks for the recipients that it invited'],
  [/^update "delegations" .* where "id" in \(select/, 'an agent that is deleted loses its customers, whoever they are'],
  [/^update "agentCards" .* where "agentId" = \?/, 'an agent that is deleted loses its cards, whoever pays them'],
  [
    /^update "\w+" set "last(Used|Active)AtMs" = \? where "id" = \?/,
    'the last use of a key, which is on every machine',
  ],
  [/^update "oauthGrants" .* where "id" = \?/, 'a grant that ends, which is on every machine'],
  [/^select \* from "\w+"( where "seeded" = 1)?$/, 'the seeded records of the sandbox, and rows that tests read'],
  [/^delete from "earlierStates"$/, 'the states for stale reads are deleted with the last rule for them'],
  [/^update "credentials" set "\w+" = \? where "id" = \?$|^select \* from "wallets" where "id" = \?$/, 'tests only'],
]

/** Returns the statements that read parties' rows without naming a party or being listed. */
export function faults(texts: Iterable<string>): string[] {
  return [...texts].flatMap((text) => {
    const tables = tablesWithoutParty(text)
    const isListed = unrestrictedStatements.some(([beginning]) => beginning.test(text))
    return tables.length === 0 || isListed ? [] : [`${tables.join(', ')} of which party? ${text}`]
  })
}
