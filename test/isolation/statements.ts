import { DatabaseSync } from 'node:sqlite'
import { keyOf, type Table } from '../../src/service/store/schema/table.ts'
import { tables } from '../../src/service/store/schema/tables.ts'

/** Records every statement that SQLite prepares, until `stop` is called. */
export function listen(): { texts: ReadonlySet<string>; stop(): void } {
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
export function partiesUnsaid(text: string): string[] {
  const named = [...text.matchAll(/\b(from|join|update|into) "(\w+)"(?: as "(\w+)")?/g)]
  return named.flatMap(([, verb, table = '', alias = table]) => {
    const declared: Table | undefined = tables[table as keyof typeof tables]
    const by = declared && keyOf('postgres', declared)[0]
    if (by === undefined || !/partyId$/i.test(by)) return []
    const column = `(?:"${alias}"\\.)?"${by}"`
    const pattern = verb === 'into' ? `"${table}" \\([^)]*${column}` : `${column} (?:=|in) |= ${column}`
    return new RegExp(pattern).test(text) ? [] : [table]
  })
}

/** The queries that may read all parties' rows, each with its reason. All of them use an index. */
const ofAllParties: readonly (readonly [beginning: RegExp, reason: string])[] = [
  [/^select "clock"\."offsetMs"/, 'the clock, and what is due next, are common to all'],
  [
    /^select "partyId" from \(select \* from \(\(select "id", "partyId", "(holdExpiresAtMs|nextEventAtMs)"/,
    'to whom something is due',
  ],
  [/^select "credentials"\.\*.* where "(secretHash|credentials"\."id)" = \?$/, 'a credential says whose it is'],
  [/^select "oauthGrants"\.\*.* where "oauthGrants"\."(id|userId)" = \?/, 'a token says which grant it is of'],
  [
    /^select \* from "(users|agents)" where "(id|handle|email)" = \?$/,
    'they are on every machine, found by other parties too',
  ],
  [/^select \* from "payments" where "id" = \?$/, 'who was paid asks by the id only'],
  [/^select \* from "paymentRequests" where "(id" = \?$|payerValue")/, 'who is asked to pay asks by the id, or joins'],
  [/^select \* from "paymentRequests" where "\w+"\."id" in \(select/, 'a list is walked by who is asked to pay'],
  [/^select \* from "users" where "email" = \? and "status" = \?$/, 'a person signs in before their party is known'],
  [/^(delete from "oauthRecords"|update "oauthGrants") .*"userId" = \?/, 'the grants of a member who is removed'],
  [/^update "webhookDeliveries" set .* where "dueAtMs" is not null$/, 'a reset gives up what was to be sent'],
  [/^select sum\("heldCents"\).* from "payments" where "claimant" in/, 'whoever pays somebody who has no account yet'],
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
  [/^insert into "snapshotRows" .* select|^delete from "\w+"$/, 'the whole world is saved, and makes room for another'],
  [/^insert into "\w+" \(.*\) select .* from "snapshotRows" as part/, 'the whole world is put back'],
  [/^select "one"\."recipient"/, 'an agent asks for those it invited'],
  [/^update "delegations" .* where "id" in \(select/, 'an agent that is deleted loses its customers, whoever they are'],
  [/^update "agentCards" .* where "agentId" = \?/, 'an agent that is deleted loses its cards, whoever pays them'],
  [
    /^update "\w+" set "last(Used|Active)AtMs" = \? where "id" = \?/,
    'the last use of a key, which is on every machine',
  ],
  [/^update "oauthGrants" .* where "id" = \?/, 'a grant that ends, which is on every machine'],
  [/^select \* from "\w+"( where "seeded" = 1)?$/, 'what the sandbox was seeded with, and what tests look at'],
  [/^delete from "earlierStates"$/, 'what is kept for stale reads goes with the last rule for them'],
  [/^update "credentials" set "\w+" = \? where "id" = \?$|^select \* from "wallets" where "id" = \?$/, 'tests only'],
]

/** Returns the statements that read parties' rows without naming a party or being listed. */
export function faults(texts: Iterable<string>): string[] {
  return [...texts].flatMap((text) => {
    const tables = partiesUnsaid(text)
    const isKnown = ofAllParties.some(([beginning]) => beginning.test(text))
    return tables.length === 0 || isKnown ? [] : [`${tables.join(', ')} of which party? ${text}`]
  })
}
