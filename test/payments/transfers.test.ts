import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { proveBooks, readAllRows } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { databases, onEachDatabase } from '../support/databases.ts'
import { addKey, addParty, createWorld, type World } from '../support/world.ts'
import { created, ok, type Payer, payer } from './payer.ts'

const address = { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' }
const complete = { name: 'Acme', accountNumber: '000123456789', routingNumber: '021000021', address }
const { address: _, ...incomplete } = complete

onEachDatabase('transfers', (database) => {
  let world: World
  let self: Payer

  beforeEach(async () => {
    world = await createWorld(database)
    self = payer(world)
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const wire = (attributes: object = {}, sent?: object) =>
    world.post('/wire', { amount: 900, currency: 'USD', beneficiary: complete, ...attributes }, sent)
  const at = (pointer: string) => ({ source: { pointer: `/data/attributes/${pointer}` } })

  describe('wires', () => {
    test('a wire is completed at once, and listed as a transfer but not as a payment', async () => {
      const { partyId, agentId } = await world.whoami()
      const { data } = ok(await wire({ description: 'Invoice 7' })).json
      const now = '2026-01-15T12:00:00.000Z'
      expect(data).toMatchObject({
        type: 'transfer',
        id: expect.stringMatching(/^tfr_[0-9a-f]{32}$/),
        attributes: {
          type: 'withdrawal',
          amount: 900,
          status: 'COMPLETED',
          method: 'wire',
          rail: 'wire',
          description: 'Invoice 7',
          externalAccountDisplayMask: '••••6789',
          settledAt: now,
          agentId,
          instanceId: 'run 1',
          createdAt: now,
        },
        relationships: { party: { data: { id: partyId } }, transaction: { data: { type: 'transaction' } } },
      })
      expect(await self.balance()).toMatchObject({ available: 249_100, total: 249_100 })
      const [transaction] = ok(await world.get('/transactions?type=transfer')).json.data
      expect(transaction).toMatchObject({
        attributes: { transactionType: 'transfer', direction: 'OUTBOUND', amount: 900 },
        relationships: {
          sourceParty: { data: { id: partyId } },
          destinationParty: { data: null },
          payment: { data: null },
          transfer: { data: { type: 'transfer', id: data.id } },
        },
      })
      expect(ok(await world.get('/payments')).json.data).toEqual([])
      expectRefusal(await world.get(`/payments/${data.id}`), 'invalid_value', { source: { parameter: 'paymentId' } })
      expect(JSON.stringify(await readAllRows(world.store))).not.toContain('000123456789')
    })

    test('a wire without the beneficiary’s address gets a 400, which is not recorded under the idempotency key', async () => {
      const sent = { idempotencyKey: 'wire' }
      for (let count = 0; count < 2; count++) {
        const refused = await wire({ beneficiary: incomplete }, sent)
        expectRefusal(refused, 'wire.beneficiary_address_required', at('beneficiary/address'))
        expect(refused.headers.get('x-idempotency-replayed')).toBeNull()
      }
      const first = ok(await wire({}, sent))
      const again = ok(await wire({}, sent))
      expect(again.text).toBe(first.text)
      expect(again.headers.get('x-idempotency-replayed')).toBe('true')
      expectRefusal(await wire({ beneficiary: incomplete }, sent), 'conflict', {
        source: { header: 'Idempotency-Key' },
      })
      expect(await self.balance()).toMatchObject({ available: 249_100 })
    })

    test.each([
      ['amount', { amount: 0, beneficiary: incomplete }],
      ['beneficiary', { beneficiary: undefined }],
      ['beneficiary/name', { beneficiary: { ...incomplete, name: '' } }],
      ['beneficiary/accountNumber', { beneficiary: { ...incomplete, accountNumber: '12' } }],
      ['beneficiary/routingNumber', { beneficiary: { ...complete, routingNumber: '123' } }],
      ['beneficiary/address', { beneficiary: { ...complete, address: null } }],
      ['beneficiary/address/city', { beneficiary: { ...complete, address: { ...address, city: undefined } } }],
      ['beneficiary/address/country', { beneficiary: { ...complete, address: { ...address, country: 'USA' } } }],
    ])('a wire with an invalid %s gets a 422, and a replay repeats it', async (pointer, wrong) => {
      const sent = { idempotencyKey: 'wrong' }
      const refused = await wire(wrong, sent)
      expectRefusal(refused, 'invalid_value', { status: 422, ...at(pointer) })
      expect((await wire(wrong, sent)).text).toBe(refused.text)
      expectRefusal(await wire({}, sent), 'conflict', { source: { header: 'Idempotency-Key' } })
    })

    test('a wire by an agent needs an idempotency key, an instance id, funds and an active wallet', async () => {
      expectRefusal(await wire({}, { idempotencyKey: null }), 'invalid_value', {
        source: { header: 'Idempotency-Key' },
      })
      const missing = await wire({}, { instanceId: null })
      expectRefusal(missing, 'missing_instance_id', { source: { header: 'X-Instance-ID' } })
      expectRefusal(await wire({ amount: 250_001 }), 'conflict', at('amount'))
      await self.freeze((await world.whoami()).partyId)
      expectRefusal(await wire(), 'conflict')
    })

    test('a wire above a limit needs an approval, which shows the beneficiary and the masked account', async () => {
      const { agentId } = await world.whoami()
      await self.setLimits('agents', String(agentId), { perTransaction: 899 })
      const [first, second] = [created(await wire()), created(await wire())]
      const [toApprove, toDeny] = [await self.approvalOf(first), await self.approvalOf(second)]
      expect(toApprove.attributes).toMatchObject({
        target: { type: 'withdrawal', id: first },
        payment: { amount: 900, currency: 'USD' },
        wire: { beneficiaryName: 'Acme', accountDisplayMask: '••••6789' },
      })
      expect(await self.balance()).toMatchObject({ available: 250_000 })
      ok(await self.approve(toApprove.id, { key: world.apiKey }))
      ok(await self.deny(toDeny.id, {}, { key: world.apiKey }))
      expect(await self.balance()).toMatchObject({ available: 249_100 })
    })
  })

  describe('sandbox deposits', () => {
    const fund = (id: string, attributes: object = {}, sent?: object) =>
      world.post(`/simulations/customers/${id}/transfers/deposit`, { amount: 500, ...attributes }, sent)

    test('a deposit goes into the wallet of a customer or of the party itself', async () => {
      const customer = await world.customerPartyId()
      const { partyId } = await world.whoami()
      const { data } = ok(await fund(customer, { currency: 'USD' })).json
      expect(data).toMatchObject({
        type: 'transfer',
        attributes: { type: 'deposit', amount: 500, status: 'COMPLETED', settledAt: '2026-01-15T12:00:00.000Z' },
        relationships: { party: { data: { id: customer } }, transaction: { data: { type: 'transaction' } } },
      })
      expect(await self.balance({}, `?customerPartyId=${customer}`)).toMatchObject({ available: 100_500 })
      ok(await fund(customer, {}, { key: world.apiKey }))
      ok(await fund(partyId))
      expect(await self.balance()).toMatchObject({ available: 250_500 })
      const [transaction] = ok(await world.get('/transactions')).json.data
      expect(transaction.attributes).toMatchObject({ direction: 'INBOUND', transactionType: 'transfer' })
      const [wallet] = ok(await world.get('/wallets')).json.data
      ok(await fund(partyId, { walletId: wallet.id }))
      expectRefusal(await fund(customer, { walletId: wallet.id }), 'not_found', at('walletId'))
    })

    test('a deposit for an unconnected or former customer is refused like one for an unknown party', async () => {
      const customer = await world.customerPartyId()
      const other = await addParty(world)
      for (const id of [other.partyId, `pty_${'0'.repeat(32)}`]) expectRefusal(await fund(id), 'not_found')
      for (const key of [other.agentKey, other.apiKey]) expectRefusal(await fund(customer, {}, { key }), 'not_found')
      await world.store.transaction(async ({ db }) => {
        await db.updateTable('delegations').set({ status: 'REVOKED' }).execute()
      })
      expectRefusal(await fund(customer), 'not_found')
      expectRefusal(await fund(customer, {}, { key: world.apiKey }), 'not_found')
    })

    test('a deposit needs an idempotency key, its own scope, and an active wallet', async () => {
      const { partyId } = await world.whoami()
      const answer = await fund(partyId, {}, { idempotencyKey: null })
      expectRefusal(answer, 'invalid_value', { source: { header: 'Idempotency-Key' } })
      const key = await addKey(world, { partyId, agentId: null, scopes: ['payments.create'] })
      expectRefusal(await fund(partyId, {}, { key }), 'forbidden')
      await self.freeze(partyId)
      expectRefusal(await fund(partyId), 'conflict')
    })

    test('each idempotency key makes one deposit; ten simultaneous deposits with ten keys are all made', async () => {
      const { partyId } = await world.whoami()
      const sent = { idempotencyKey: 'fund' }
      expect(created(await fund(partyId, {}, sent))).toBe(created(await fund(partyId, {}, sent)))
      await Promise.all(Array.from({ length: 10 }, () => fund(partyId)))
      expect(await self.balance()).toMatchObject({ available: 250_000 + 11 * 500 })
    })
  })
})

test('the routes of simulations do not exist in production', async () => {
  for (const database of databases) {
    const world = await createWorld(database, { environment: 'production' })
    try {
      const { partyId } = await world.whoami()
      expectRefusal(await world.post(`/simulations/customers/${partyId}/transfers/deposit`, { amount: 1 }), 'not_found')
      expectRefusal(await world.send('POST', '/simulations/payments/pay_1/complete-claim'), 'not_found')
    } finally {
      await world.drop()
    }
  }
})
