import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { permissions } from '../../src/core/permissions.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { noTraces, tracesOf } from '../adversary/traces.ts'
import { exchanged } from '../credentials/requests.ts'
import { createPersonSite, type PersonSite } from '../pages/person-site.ts'
import { onEachDatabase } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { type Answer, addParty, type WorldOptions } from '../support/world.ts'
import { type AccountKind, accounts, addPlayed, type Play, type Player, type Stage, simulations } from './played.ts'

type Row = [OperationKey, Play]
const partySimulations = Object.entries(simulations).filter((row): row is Row => typeof row[1] === 'function')

/** A kind of credential that can send a simulation. */
interface Sender {
  key(stage: Stage): Promise<string>
  isAgent: boolean
}

const senders = {
  "an agent's key": { key: async ({ player }) => player.agentKey, isAgent: true },
  "a token for an agent's key": {
    key: async ({ site: { world }, player }) => exchanged(world, player.agentKey),
    isAgent: true,
  },
  'an API key': { key: async ({ player }) => player.apiKey, isAgent: false },
} as const satisfies Record<string, Sender>

/** Returns the senders that may call an operation. Agents are included only if the agent policy permits it. */
const sendersOf = (key: OperationKey) =>
  Object.entries<Sender>(senders).filter(([, { isAgent }]) => !isAgent || permissions[catalogue[key].permission].agent)

onEachDatabase('simulations of other parties', (database) => {
  let site: PersonSite

  const createSite = async (options: WorldOptions = {}) => {
    site = await createPersonSite(database, options)
  }
  const manager = async (): Promise<Player> => {
    const { agentKey, apiKey, whoami } = site.world
    const { partyId, agentId } = await whoami()
    return { partyId, agentId: agentId ?? '', agentKey, apiKey }
  }
  const stageOf = async (player: Player, kind: AccountKind): Promise<Stage> => ({
    site,
    player,
    played: await addPlayed(site, kind),
  })
  /**
   * Sends a simulation with each kind of credential that may call it, each time for a new party. Returns `refused` or
   * the status, by kind of credential.
   */
  const statuses = async ([key, play]: Row, player: Player, kind: AccountKind): Promise<Record<string, string>> => {
    const results: Record<string, string> = {}
    for (const [name, { key: keyOf }] of sendersOf(key)) {
      const stage = await stageOf(player, kind)
      const { path, attributes } = await play(stage)
      const sent = { key: await keyOf(stage), ...(attributes === undefined ? {} : { attributes }) }
      const answers: Answer[] = []
      const left = await tracesOf(site.world, player.partyId, async () => {
        answers.push(await site.world.send('POST', path, sent))
      })
      for (const { status, json } of answers) {
        const refusal = status === 409 ? String(json.errors[0].detail) : ''
        if (status === 409) expect(left, name).toEqual(noTraces)
        results[name] = / cannot be simulated: .*( [Ss]end |To end it|sign in and do it at )/.test(refusal)
          ? 'refused'
          : `${status} ${refusal}`.trim()
      }
    }
    return results
  }
  const forAll = (result: string, key: OperationKey) =>
    Object.fromEntries(sendersOf(key).map(([name]) => [name, result]))

  describe('in a sandbox', () => {
    let other: Player
    beforeAll(async () => {
      await createSite()
      other = await addParty(site.world)
    })
    afterAll(() => site.world.drop())

    test('every simulation has an entry in the table', () => {
      const all = Object.entries<OperationDefinition>(catalogue)
      const simulating = all.filter(
        ([, one]) => one.path.startsWith('/simulations/') || one.name.startsWith('simulate_'),
      )
      expect(Object.keys(simulations).sort()).toEqual(simulating.map(([key]) => key).sort())
      const sandboxOnly = all.filter(([, { environments }]) => !environments.includes('production'))
      expect(Object.keys(simulations)).toEqual(expect.arrayContaining(sandboxOnly.map(([key]) => key)))
    })

    test.each(sampleOf(partySimulations, 8))(
      "%s acts for a self-managed party only with an API key of the sandbox's manager",
      async (...row) => {
        const player = await manager()
        for (const kind of accounts) {
          const results = await statuses(row, player, kind)
          const expected =
            kind === 'nobody' ? forAll('200', row[0]) : { ...forAll('refused', row[0]), 'an API key': '200' }
          expect(results, kind).toEqual(expected)
        }
      },
    )

    test.each(sampleOf(partySimulations, 8, 2))(
      '%s never acts for a self-managed party if its sender does not manage the sandbox',
      async (...row) => {
        for (const kind of accounts) {
          expect(await statuses(row, other, kind), kind).toEqual(forAll(kind === 'nobody' ? '200' : 'refused', row[0]))
        }
      },
    )
  })

  test('an agent can simulate a customer without accounts, from the invitation to the disconnection', async () => {
    await createSite()
    const { world } = site
    const { agentId } = await manager()
    const post = async (path: string, attributes?: object) => {
      const sent = attributes === undefined ? {} : { attributes }
      const { status, text, json } = await world.send('POST', path, sent)
      expect([200, 201], text).toContain(status)
      return json
    }
    const invited = await post('/simulations/invite-customer', { agentIds: [agentId] })
    const { partyId: customerPartyId } = invited.meta.customer
    await post(`/simulations/customer-invitations/${invited.data[0].id}/accept`)
    await post(`/simulations/customers/${customerPartyId}/transfers/deposit`, { amount: 10_000 })
    await world.store.transaction(async ({ db }) => {
      const limits = JSON.stringify({ perTransaction: 100 })
      await db.updateTable('delegations').set({ limits }).where('customerPartyId', '=', customerPartyId).execute()
    })
    const counterparty = { type: 'email', value: 'somebody@example.com' }
    const { id } = (await post('/payments', { amount: 900, counterparty, customerPartyId })).data
    const { data } = (await world.get(`/approvals?customerPartyId=${customerPartyId}`)).json
    await post(`/simulations/approvals/${data[0].id}/approve`)
    await post(`/simulations/payments/${id}/complete-claim`)
    const paymentRequest = await post('/payment-requests', {
      amount: 500,
      payer: { type: 'party_id', value: customerPartyId },
    })
    await post(`/simulations/payment-requests/${paymentRequest.data.id}/fulfill`)
    await post(`/simulations/customers/${customerPartyId}/agents/${agentId}/revoke`)
    // The seeded customer has no accounts either.
    const seeded = (await world.get('/customers')).json.data[0].id
    await post(`/simulations/customers/${seeded}/agents/${agentId}/revoke`)
    await world.drop()
  })

  describe.each<[string, WorldOptions, string]>([
    ['in a rehearsal', {}, 'rehearsal'],
    ['in a sandbox with a public address', { publicUrl: () => 'https://sandbox.example' }, 'public'],
  ])('%s', (_, options, kindOfWorld) => {
    beforeAll(async () => {
      await createSite(options)
      if (kindOfWorld !== 'rehearsal') return
      await site.world.store.transaction(async ({ db }) => {
        await db.updateTable('world').set({ isRehearsal: 1 }).execute()
      })
    })
    afterAll(() => site.world.drop())

    test.each(sampleOf(partySimulations, 8, 5))(
      "%s never acts for a self-managed party, not even with an API key of the sandbox's manager",
      async (...row) => {
        expect(await statuses(row, await manager(), 'an API key')).toEqual(forAll('refused', row[0]))
      },
    )
  })
})
