import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { processorTokens, testAccounts } from '../../src/service/rules/test-bank.ts'
import { accountRejections } from '../../tools/external-accounts.ts'
import { outboxEvents } from '../events/outbox-events.ts'
import { ok } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import {
  type Answer,
  addDelegation,
  addKey,
  addParty,
  createWorld,
  type OtherParty,
  type Sent,
  type World,
} from '../support/world.ts'

/** The `pagination` of a list that fits on one page. */
const onePage = { hasMore: false, nextCursor: null }

const usual = { processorToken: 'processor-sandbox-accounts' }

/** Returns the answer's JSON, and fails if the status is not 201. */
function created(answer: Answer): Answer['json'] {
  expect(answer.status, answer.text).toBe(201)
  return answer.json
}

onEachDatabase('bank accounts', (database) => {
  let world: World
  /** A party without bank accounts, new for each test. */
  let party: OtherParty
  let outbox: ReturnType<typeof outboxEvents>

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())
  beforeEach(async () => {
    party = await addParty(world)
    outbox = outboxEvents(world, () => ({ [party.partyId]: 'party' }))
    await outbox.newEvents()
  })

  const owner = (): Sent => ({ key: party.apiKey })
  const link = (attributes: object = usual, sent: Sent = {}) =>
    world.post('/external-accounts/processor-token', attributes, { ...owner(), ...sent })
  const simulateLink = (sent: Sent = {}) =>
    world.send('POST', '/simulations/external-accounts/link', { ...owner(), ...sent })
  const disconnect = (id: string, attributes?: object) =>
    world.send('POST', `/simulations/external-accounts/${id}/disconnect`, { ...owner(), attributes })
  const unlink = (id: string, sent: Sent = {}) =>
    world.send('DELETE', `/external-accounts/${id}`, { ...owner(), ...sent })
  const read = async (id: string) => ok(await world.get(`/external-accounts/${id}`, owner())).json.data
  const listed = async () => ok(await world.get('/external-accounts', owner())).json.data

  describe('linking', () => {
    test('linking returns a checking and a savings account, each with only the last four digits of its number', async () => {
      const { data, meta } = created(await link())
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
          createdAt: new Date(world.system.now()).toISOString(),
        },
        relationships: { party: { data: { type: 'party', id: party.partyId } } },
      })
      expect(data).toStrictEqual([
        account('Test Checking', 'checking', '0000'),
        account('Test Savings', 'savings', '1111'),
      ])
      expect(meta).toStrictEqual({ pagination: onePage, rejectedAccounts: [] })
      const newestFirst = [...data].sort((a, b) => (a.id < b.id ? 1 : -1))
      expect(await listed()).toStrictEqual(newestFirst)
      expect(await read(data[0].id)).toStrictEqual(data[0])
      expect(await outbox.newEvents()).toEqual(Array(2).fill('party external_account.connected eac'))
    })

    test('linking accepts a bank name, and a repeat with the same idempotency key links nothing again', async () => {
      const sent = { idempotencyKey: 'link once' }
      const named = { ...usual, institutionName: 'First Example Bank' }
      const first = created(await link(named, sent))
      expect(first.data[0].attributes.bankName).toBe('First Example Bank')
      expect(created(await link(named, sent))).toStrictEqual(first)
      expect(await outbox.newEvents()).toHaveLength(2)
    })

    test.each(accountRejections)('an account rejected with %s is reported, not linked', async (reason) => {
      const { accountName, lastFour: accountMask } = testAccounts[reason]
      const processorToken = `processor-sandbox-${reason.replaceAll('_', '-')}`
      const rejectedAccounts = [{ accountId: reason, accountName, accountMask, reason }]
      expect(created(await link({ processorToken }))).toStrictEqual({
        data: [],
        meta: { pagination: onePage, rejectedAccounts },
      })
      expect(await listed()).toEqual([])
      expect(await outbox.newEvents()).toEqual([])
    })

    test('only the accounts that the bank accepts are linked', async () => {
      const { data, meta } = created(await link({ processorToken: 'processor-sandbox-some-rejected' }))
      expect(data.map(({ attributes }: Account) => attributes.accountName)).toEqual(['Test Checking'])
      expect(meta.rejectedAccounts.map(({ reason }: { reason: string }) => reason)).toEqual([
        'bank_account_name_mismatch',
      ])
    })

    test('an unknown token is refused; the error lists the sandbox’s tokens, but not the unknown one', async () => {
      const answer = await link({ processorToken: 'processor-production-4711' })
      expectRefusal(answer, 'invalid_value', {
        status: 422,
        source: { pointer: '/data/attributes/processorToken' },
      })
      for (const token of processorTokens.keys()) expect(answer.json.errors[0].detail).toContain(token)
      expect(answer.text).not.toContain('4711')
      expect(world.logged.join()).not.toContain('4711')
    })

    test('linking is permitted to keys with the required scope, and to agents for their party and for customers that granted them this permission', async () => {
      const key = await addKey(world, { partyId: party.partyId, agentId: null, scopes: ['wallets.read'] })
      expectRefusal(await link(usual, { key }), 'forbidden')
      created(await link(usual, { key: party.agentKey }))
      expect(await listed()).toHaveLength(2)
      const { partyId: customerPartyId } = await addParty(world)
      const { partyId: agentPartyId, agentId } = party
      const grant = { customerPartyId, agentPartyId, agentId, permissions: '["external_accounts.create"]' }
      await addDelegation(world, grant)
      const [account] = created(await link({ ...usual, partyId: customerPartyId }, { key: party.agentKey })).data
      expect(account.relationships.party.data.id).toBe(customerPartyId)
      expect(await listed()).toHaveLength(2)
    })
  })

  describe('linking again', () => {
    test('linking an account again changes nothing if its connection works', async () => {
      const first = ok(await simulateLink()).json
      expect(first.meta).toStrictEqual({ pagination: onePage, rejectedAccounts: [] })
      expect(first.data.map(({ attributes }: Account) => attributes.accountName)).toEqual(['Test Checking'])
      await outbox.newEvents()
      const rows = () => world.store.read(({ db }) => db.selectFrom('externalAccounts').selectAll().execute())
      const before = await rows()
      world.system.pass(1_000)
      expect(ok(await simulateLink()).json.data).toStrictEqual(first.data)
      expect(await outbox.newEvents()).toEqual([])
      expect(await rows()).toEqual(before)
    })

    test.each(['login_required', 'disconnected'])('linking again resolves the status %s', async (connectionStatus) => {
      const [account] = ok(await simulateLink()).json.data
      await outbox.newEvents()
      const broken = ok(await disconnect(account.id, { connectionStatus })).json.data
      expect(broken).toStrictEqual({ ...account, attributes: { ...account.attributes, connectionStatus } })
      ok(await disconnect(account.id, { connectionStatus }))
      expect(await outbox.newEvents()).toEqual(['party external_account.disconnected eac'])
      expect(created(await link()).data[0]).toStrictEqual(account)
      expect((await outbox.newEvents()).sort()).toEqual(Array(2).fill('party external_account.connected eac'))
      expect(await read(account.id)).toStrictEqual(account)
    })

    test('a simulated disconnection without attributes sets the status to disconnected', async () => {
      const [account] = ok(await simulateLink()).json.data
      expect(ok(await disconnect(account.id)).json.data.attributes.connectionStatus).toBe('disconnected')
    })
  })

  describe('unlinking', () => {
    test('an unlinked account is disconnected and not listed, but can still be read by its id', async () => {
      const [checking, savings] = created(await link()).data
      await outbox.newEvents()
      const { data, meta } = ok(await unlink(checking.id)).json
      expect(meta).toStrictEqual({ deleted: true })
      const attributes = { ...checking.attributes, status: 'deleted', connectionStatus: 'disconnected' }
      expect(data).toStrictEqual({ ...checking, attributes })
      expect(ok(await unlink(checking.id)).json.data).toStrictEqual(data)
      expect(await outbox.newEvents()).toEqual(['party external_account.deleted eac'])
      expect(await listed()).toStrictEqual([savings])
      expect(await read(checking.id)).toStrictEqual(data)
      expectRefusal(await disconnect(checking.id), 'conflict')
      // Linking the account again returns the same record.
      expect(ok(await simulateLink()).json.data).toStrictEqual([checking])
      expect(await listed()).toHaveLength(2)
    })

    test('unlinking is refused to agents, and to keys without the required scope', async () => {
      const [{ id }] = ok(await simulateLink()).json.data
      expectRefusal(await unlink(id, { key: party.agentKey }), 'forbidden')
      const key = await addKey(world, { partyId: party.partyId, agentId: null, scopes: ['wallets.read'] })
      expectRefusal(await unlink(id, { key }), 'forbidden')
      expect((await read(id)).attributes.status).toBe('active')
    })

    test('unlinking another party’s account is refused', async () => {
      const [{ id }] = ok(await simulateLink()).json.data
      expectRefusal(await unlink(id, { key: world.apiKey }), 'not_found')
    })
  })
})

interface Account {
  attributes: { accountName: string }
}

test('linking is refused in production, which is not connected to a bank', async () => {
  const world = await createWorld(sqlite, { environment: 'production' })
  const answer = await world.post('/external-accounts/processor-token', usual, { key: world.apiKey })
  expectRefusal(answer, 'not_implemented')
  expect(answer.json.errors[0].detail).toContain('not connected to a bank')
  await world.drop()
})

test('docs/sandbox.md lists the tokens of the test bank and the accounts of each', () => {
  const text = readFileSync('docs/sandbox.md', 'utf8')
  const rows = [...text.matchAll(/^\| `(processor-sandbox-[a-z-]+)` \|/gm)].map(([, token]) => token)
  expect(rows).toEqual([...processorTokens.keys()])
  for (const [token, accounts] of processorTokens) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${token}\` |`))
    for (const id of accounts) {
      const { accountName, lastFour, rejection, deposit, withdrawal } = testAccounts[id]
      expect(row).toContain(rejection === null ? `${accountName} ••••${lastFour}` : `\`${rejection}\``)
      for (const answer of [deposit, withdrawal]) if (answer.does !== 'settles') expect(row).toContain(answer.code)
    }
  }
})
