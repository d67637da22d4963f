import { expect, test } from 'vitest'
import { columnsOf, keyOf, type Table } from '../../src/service/store/schema/table.ts'
import { tables } from '../../src/service/store/schema/tables.ts'

/** Tables that have a `partyId` but are queried without it, each with the reason. */
const queriedWithoutParty: Readonly<Record<string, string>> = {
  accessTokens: 'a token is found by its hash',
  cardPages: 'a page is found by the hash in its URL',
  mcpSessions: 'a session is found by the hash of its id',
  faults: 'a rule without a party applies to the whole sandbox',
  releasedHandles: 'a handle is looked up by its value',
}

test('on PostgreSQL, the primary key of every table with a partyId begins with it, except in the listed tables', () => {
  const withParty = Object.entries<Table>(tables).filter(([, table]) =>
    columnsOf(table).some(([name]) => name === 'partyId'),
  )
  const elsewhere = withParty.filter(([, table]) => keyOf('postgres', table)[0] !== 'partyId').map(([name]) => name)
  expect(elsewhere.sort()).toEqual(Object.keys(queriedWithoutParty).sort())
})
