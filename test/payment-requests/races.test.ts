import { expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { createPersonSite } from '../pages/person-site.ts'
import { ok, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { postgres } from '../support/databases.ts'
import { holdLocks } from '../support/locks.ts'
import { addParty } from '../support/world.ts'
import { paymentRequestCalls } from './calls.ts'

const card = { decision: 'card', number: '4242 4242 4242 4242', expiry: '12/34', cvv: '123' }

test.each(['a bank transfer', 'a payment in review'])('a card and %s never both pay one request', async (kind) => {
  const isFromBank = kind === 'a bank transfer'
  const site = await createPersonSite(postgres)
  const { world } = site
  const requests = paymentRequestCalls(world)
  const other = await addParty(world)
  const key = other.apiKey
  const before = (await payer(world).balance()).available
  const linked = { processorToken: 'processor-sandbox-accounts' }
  const [account] = ok(await world.post('/external-accounts/processor-token', linked, { key })).json.data
  ok(await world.send('PUT', '/parties/me/limits', { key, attributes: { perDay: isFromBank ? null : 1 } }))
  const paymentSource = isFromBank
    ? { type: 'external_account', externalAccountId: account.id }
    : { type: 'wallet', walletId: other.walletId }
  const paymentRequest = ok(await requests.ask(1250, { type: 'party_id', value: other.partyId })).json.data
  const path = new URL(paymentRequest.attributes.paymentLinkUrl).pathname
  const visitor = await site.visitor(await site.addUser({ partyId: other.partyId, role: 'OWNER' }))
  await visitor.open(path)

  // The card payment finds the payment request open, and then waits for the lock on the requester's wallet.
  const walletId = paymentRequest.relationships.wallet.data.id
  const held = await holdLocks(world.url, `select 1 from wallets where id = '${walletId}' for update`)
  const byCard = visitor.send(path, card)
  await held.waitUntilBlocked(1)
  const paid = ok(await world.post(`/payment-requests/${paymentRequest.id}/fulfill`, { paymentSource }, { key })).json
    .data
  await held.release()
  const refused = await byCard
  expect(refused.status).toBe(409)
  expect(refused.text).toContain('Nothing was paid.')

  expect(await requests.statusOf(paymentRequest.id)).toBe('PROCESSING')
  expect((await payer(world).balance()).available).toBe(before)
  // The payer's next API call first applies all effects that are due by now. The call itself must still succeed.
  world.system.pass(10 * 24 * 60 * 60_000)
  expect((await world.get('/whoami', { key })).status).toBe(200)
  const status = isFromBank ? 'COMPLETED' : 'PROCESSING'
  expect(ok(await requests.read(paymentRequest.id, { key })).json.data).toMatchObject({
    attributes: { status },
    relationships: { payment: { data: { id: paid.id } } },
  })
  expectRefusal(await requests.fulfill(paymentRequest.id, other.walletId, { key }), 'conflict')
  await proveBooks(world.store)
  await world.drop()
})
