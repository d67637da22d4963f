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

/** Returns the tables that a statement uses without specifying the party, although their rows belong to parties. */
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

/** The beginnings of the statements that may use the rows of any party, each with the reason. */
const unrestrictedStatements: readonly (readonly [beginning: RegExp, reason: string])[] = [
  [/^select "clock"\."offsetMs"/, 'the clock and the time of the next due effect are common to all parties'],
  [
    /^select "partyId" from \(select \* from \(\(select "id", "partyId", "(holdExpiresAtMs|nextEventAtMs)"/,
    'finds the parties with due effects',
  ],
  [/^select "credentials"\.\*.* where "(secretHash|credentials"\."id)" = \?$/, 'a credential determines the party'],
  [/^select "oauthGrants"\.\*.* where "oauthGrants"\."(id|userId)" = \?/, 'a grant determines the party'],
  [
    /^select \* from "(users|agents)" where "(id|handle|email)" = \?$/,
    'a user who signs in, or an agent of another party, is looked up',
  ],
  [/^select \* from "payments" where "id" = \?$/, 'the recipient of a payment reads it by its id only'],
  [
    /^select \* from "paymentRequests" where "(id" = \?$|payerValue")/,
    'a payer reads a request by its id, and a new party finds the requests that name it as the payer',
  ],
  [/^select \* from "paymentRequests" where "\w+"\."id" in \(select/, 'a payer lists the requests from all parties'],
  [/^select \* from "users" where "email" = \? and "status" = \?$/, 'a person signs in before their party is known'],
  [/^(delete from "oauthRecords"|update "oauthGrants") .*"userId" = \?/, 'removing a user ends their grants'],
  [/^update "webhookDeliveries" set .* where "dueAtMs" is not null$/, 'a reset cancels all pending deliveries'],
  [
    /^select sum\("heldCents"\).* from "payments" where "claimant" in/,
    'the payments of all parties to one person without an account are added up',
  ],
  [
    /^select \* from "transactions" where "(id|sourcePartyId|destinationPartyId)" = \?/,
    'a transaction has two parties',
  ],
  [
    /^select (distinct )?.* from "delegations" where \(?"agentPartyId" = \?/,
    'an agent lists its customers, which are other parties',
  ],
  [
    /^select \* from "(transactions|agentCards|cardTransactions)" where "\w+"\."id" in \(select/,
    'a list is read by the ids of wallets and agents, which were found by their party',
  ],
  [
    /^select distinct "customerPartyId" as "id" from "delegations"/,
    'an agent lists its customers, which are other parties',
  ],
  [/^insert into "snapshotRows" .* select|^delete from "\w+"$/, 'the whole world is saved, or deleted by a restore'],
  [/^insert into "\w+" \(.*\) select .* from "snapshotRows" as part/, 'the whole world is restored'],
  [/^select "one"\."recipient"/, 'an agent lists the recipients that it invited'],
  [/^update "delegations" .* where "id" in \(select/, 'deleting an agent ends its grants from all customers'],
  [/^update "agentCards" .* where "agentId" = \?/, 'deleting an agent ends its cards, whichever party pays for them'],
  [
    /^update "\w+" set "last(Used|Active)AtMs" = \? where "id" = \?/,
    'the last use of a credential or agent is recorded by its id',
  ],
  [/^update "oauthGrants" .* where "id" = \?/, 'a grant is changed or ended by its id'],
  [/^select \* from "\w+"( where "seeded" = 1)?$/, 'the seeded records of the sandbox, and rows that tests read'],
  [/^delete from "earlierStates"$/, 'the states for stale reads are deleted with the last fault rule that needs them'],
  [/^update "credentials" set "\w+" = \? where "id" = \?$|^select \* from "wallets" where "id" = \?$/, 'tests only'],
]

/**
 * Returns a message for each statement that uses parties' rows without specifying the party, unless
 * `unrestrictedStatements` contains the statement.
 */
export function faults(texts: Iterable<string>): string[] {
  return [...texts].flatMap((text) => {
    const tables = tablesWithoutParty(text)
    const isListed = unrestrictedStatements.some(([beginning]) => beginning.test(text))
    return tables.length === 0 || isListed ? [] : [`${tables.join(', ')} of which party? ${text}`]
  })
}
