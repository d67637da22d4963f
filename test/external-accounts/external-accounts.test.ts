import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ok } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type Sent, type World } from '../support/world.ts'

onEachDatabase('bank accounts', (database) => {
  let world: World
  let partyId: string

  beforeEach(async () => {
    world = await createWorld(database)
    partyId = (await world.whoami()).partyId
  })
  afterEach(() => world.drop())

  const owner = (): Sent => ({ key: world.apiKey })
  const link = (attributes: object = { processorToken: 'processor-sandbox-accounts' }, sent: Sent = {}) =>
    world.post('/external-accounts/processor-token', attributes, { ...owner(), ...sent })
  const read = (id: string) => world.get(`/external-accounts/${id}`, owner())
  const listed = async () => ok(await world.get('/external-accounts', owner())).json.data

  describe('linking', () => {
    test('a checking and a savings account, of which only the last four digits are known', async () => {
      const answer = await link()
      expect(answer.status).toBe(201)
      const { data, meta } = answer.json
      const party = { data: { type: 'party', id: partyId } }
      const account = (accountName: string, accountType: string, lastFour: string) => ({
        type: 'externalAccount',
        id: expect.stringMatching(/^eac_[0-9a-f]{32}$/),
        attributes: {
          lastFour,
          status: 'active',
          connectionStatus: 'active',
          bankName: 'Test Bank',
          accountName,
          accountType,
          createdAt: '2026-01-15T12:00:00.000Z',
        },
        relationships: { party },
      })
      expect(data).toStrictEqual([
        account('Test Checking', 'checking', '0000'),
        account('Test Savings', 'savings', '1111'),
      ])
      expect(meta).toStrictEqual({ rejectedAccounts: [] })
      expect(await listed()).toStrictEqual([...data].sort((a, b) => (a.id < b.id ? 1 : -1)))
      expect(ok(await read(data[0].id)).json.data).toStrictEqual(data[0])
    })
  })
})
