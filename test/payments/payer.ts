import { expect } from 'vitest'
import { scopes } from '../../src/core/permissions.ts'
import { newId, sha256 } from '../../src/core/system.ts'
import type { PartyRow } from '../../src/service/store/schema/parties.ts'
import { newUser } from '../../src/service/store/users.ts'
import { type Answer, addKey, type Sent, type World } from '../support/world.ts'

/** Returns functions that call operations on payments, read the results, and set up limits, wallets and users. */
export function payer(world: World) {
  const { store, send, get, post } = world
  const pay = (amount: number, counterparty: object, more: object = {}, sent?: Sent) =>
    post('/payments', { amount, counterparty, ...more }, sent)
  const balance = async (sent?: Sent, query = '') => {
    const [wallet] = ok(await get(`/wallets${query}`, sent)).json.data
    return wallet.attributes.balance as { available: number; total: number }
  }
  return {
    pay,
    balance,
    approve: (id: string, sent?: Sent) => send('POST', `/approvals/${id}/approve`, sent),
    deny: (id: string, attributes?: object, sent?: Sent) =>
      send('POST', `/approvals/${id}/deny`, attributes === undefined ? sent : { ...sent, attributes }),
    cancel: (id: string, sent?: Sent) => send('POST', `/payments/${id}/cancel`, sent),
    claim: (id: string, sent?: Sent) =>
      send('POST', `/simulations/payments/${id}/complete-claim`, { idempotencyKey: null, ...sent }),
    status: async (id: string, sent?: Sent) =>
      ok(await get(`/payments/${id}`, sent)).json.data.attributes.status as string,
    /** Returns the approval of a payment, or undefined if the payment was never in review. */
    approvalOf: async (paymentId: string, sent: Sent = { key: world.apiKey }, query = '') => {
      const { data } = ok(await get(`/approvals${query}`, sent)).json
      return data.find(({ attributes }: Approval) => attributes.target.id === paymentId)
    },
    setLimits: (table: 'agents' | 'parties' | 'delegations', id: string, limits: object | null) =>
      store.transaction(async ({ db }) => {
        const json = limits === null ? null : JSON.stringify(limits)
        await db.updateTable(table).set({ limits: json }).where('id', '=', id).execute()
      }),
    setParty: (id: string, row: Partial<PartyRow>) =>
      store.transaction(async ({ db }) => {
        await db.updateTable('parties').set(row).where('id', '=', id).execute()
      }),
    freeze: (partyId: string, status: 'active' | 'frozen' = 'frozen') =>
      store.transaction(async ({ db }) => {
        await db.updateTable('wallets').set({ status }).where('partyId', '=', partyId).execute()
      }),
    delegationId: async (customerPartyId: string) =>
      store.transaction(async ({ db }) => {
        const found = db.selectFrom('delegations').select('id').where('customerPartyId', '=', customerPartyId)
        return (await found.executeTakeFirstOrThrow()).id
      }),
    addPartyKey: (partyId: string) => addKey(world, { partyId, agentId: null, scopes }),
    userToken: (partyId: string) => addUserToken(world, partyId),
  }
}

export type Payer = ReturnType<typeof payer>

interface Approval {
  attributes: { target: { id: string } }
}

/** Adds a user. Returns the user's token, and a function that sets the time of the user's last second-factor check. */
async function addUserToken({ store, system }: World, partyId: string) {
  const now = system.now()
  const userId = newId('usr', system, now)
  const credential = `ut_ntl_sandbox_${newId('test', system, now)}`
  await store.transaction(async ({ db }) => {
    const user = {
      id: userId,
      partyId,
      role: 'OWNER',
      name: 'Ada',
      email: 'ada@example.com',
      createdAtMs: now,
    } as const
    await db
      .insertInto('users')
      .values({ ...newUser, ...user })
      .execute()
    await db
      .insertInto('credentials')
      .values({
        id: newId('utk', system, now),
        kind: 'user_token',
        partyId,
        agentId: null,
        userId,
        name: null,
        secretHash: sha256(credential),
        displayPrefix: credential.slice(0, 20),
        scopes: null,
        tags: '{}',
        seeded: 0,
        createdBy: null,
        revokedBy: null,
        revokedAtMs: null,
        expiresAtMs: null,
        lastUsedAtMs: null,
        createdAtMs: now,
      })
      .execute()
  })
  const verify = (atMs: number) =>
    store.transaction(async ({ db }) => {
      await db.updateTable('users').set({ mfaVerifiedAtMs: atMs }).where('id', '=', userId).execute()
    })
  return { credential, verify }
}

/** Returns the given answer. Fails the test if the request was refused. */
export function ok(answer: Answer): Answer {
  expect([200, 201], answer.text).toContain(answer.status)
  return answer
}

/** Returns the id of the record that a request created. Fails the test if the request was refused. */
export function created(answer: Answer): string {
  return ok(answer).json.data.id as string
}
