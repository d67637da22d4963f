import { expect, test } from 'vitest'
import { columnsOf, keyOf, type Table } from '../../src/service/store/schema/table.ts'
import { tables } from '../../src/service/store/schema/tables.ts'

/** Tables with a party that queries may read without naming it, with the reason. */
const foundOtherwise: Readonly<Record<string, string>> = {
  accessTokens: 'a token is found by its hash',
  cardPages: 'a page is found by the hash in its address',
  mcpSessions: 'a session is found by the hash of its id',
  faults: 'a rule belongs to the sandbox, and may be for one party only',
  releasedHandles: 'a handle is looked up by its text',
}

test('on PostgreSQL the key of each table with a party begins with the party, so that its rows are stored together', () => {
  const named = Object.entries<Table>(tables).filter(([, table]) =>
    columnsOf(table).some(([name]) => name === 'partyId'),
  )
  const elsewhere = named.filter(([, table]) => keyOf('postgres', table)[0] !== 'partyId').map(([name]) => name)
  expect(elsewhere.sort()).toEqual(Object.keys(foundOtherwise).sort())
})
