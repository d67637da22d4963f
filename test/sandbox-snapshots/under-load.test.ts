import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nextTurn } from '../../src/core/system.ts'
import { StoreBusyError, type Transaction } from '../../src/service/store/engine/store.ts'
import { proveBooks } from '../ledger/books.ts'
import { databasesForLong } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { anotherProcess, createWorld, type World } from '../support/world.ts'

const [clients, times] = isDeep ? [64, 30] : [8, 6]

/** The names in two states of one world, which differ in two tables. A request that sees both names saw a mixture. */
const names = ['left', 'right'] as const

describe.each(databasesForLong)('while the sandbox goes back and forth on $name', (database) => {
  let world: World
  let processes: World[]

  beforeEach(async () => {
    world = await createWorld(database)
    const other = await anotherProcess(world, world.system)
    processes = [world, other]
    const { agentId } = await world.whoami()
    const { id: walletId } = (await world.get('/wallets')).json.data[0]
    for (const name of names) {
      const sent = { key: world.apiKey, attributes: { name } }
      await world.send('PATCH', `/agents/${agentId}`, sent)
      await world.send('PATCH', `/wallets/${walletId}`, { ...sent, attributes: { displayName: name } })
      await world.post('/simulations/snapshots', { name })
    }
  })
  afterEach(async () => {
    await processes[1]?.drop()
    await world.drop()
  })

  /** Sends each client's requests one after another until `over` returns true. Returns the answers. */
  async function sendUntil(
    ask: (round: number, of: World) => Promise<string>,
    over: () => boolean,
  ): Promise<Set<string>> {
    const answers = new Set<string>()
    const client = async (number: number) => {
      const of = processes[number % processes.length] ?? world
      for (let round = number; !over(); round++) answers.add(await ask(round, of))
    }
    await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
    return answers
  }

  async function backAndForth(ask: (round: number, of: World) => Promise<string>): Promise<Set<string>> {
    let isOver = false
    const clientAnswers = sendUntil(ask, () => isOver)
    const between = new Set<string>()
    for (let time = 0; time < times; time++) {
      const [of, path] = [
        processes[time % 3 === 0 ? 1 : 0] ?? world,
        `/simulations/snapshots/${names[time % 2]}/restore`,
      ]
      const answer = await of.send('POST', path, { key: world.apiKey })
      // A busy database may refuse a request, which then changed nothing.
      expect([200, 503], answer.text).toContain(answer.status)
      // Reads after each restore, so that both states are seen even if the clients get few turns.
      between.add(await ask(time, of))
    }
    isOver = true
    return new Set([...between, ...(await clientAnswers)])
  }

  const wallet = async ({ db }: Transaction) =>
    (await db.selectFrom('wallets').select('displayName').where('displayName', 'in', names).executeTakeFirst())
      ?.displayName
  const agent = async ({ db }: Transaction) =>
    (await db.selectFrom('agents').select('name').where('name', 'in', names).executeTakeFirst())?.name

  test('every read and change sees one world', async () => {
    const both = async (tx: Transaction) => {
      const before = await wallet(tx)
      await nextTurn()
      return `${before} ${await agent(tx)}`
    }
    // A busy database may refuse a request, which then changed nothing.
    const unlessBusy = (error: unknown) => {
      if (error instanceof StoreBusyError) return 'busy'
      throw error
    }
    const answers = await backAndForth((round, { store }) => {
      if (round % 2 === 0) return store.read(both).catch(unlessBusy)
      return store.transaction(both, round % 4 === 1 ? { kind: 'both' } : {}).catch(unlessBusy)
    })
    answers.delete('busy')
    expect(answers.size).toBeGreaterThan(0)
    expect([...answers].filter((names) => !['left left', 'right right'].includes(names))).toEqual([])
  })

  test('every request is answered, none by a failure, and the books are right', async () => {
    let keys = 0
    const statuses = await backAndForth(async (round, of) => {
      const sent = () => ({ idempotencyKey: `own key ${keys++}` })
      const cardId = await of.post(
        '/agent-cards',
        { merchant: { name: 'Books' }, maximumAmount: 500, currency: 'USD' },
        sent(),
      )
      if (cardId.status !== 200) return `issue ${cardId.status}`
      const { id } = cardId.json.data
      const answer = await (round % 2 === 0 ? of.authorize(id, 100, sent()) : of.get(`/agent-cards/${id}`))
      return `${round % 2 === 0 ? 'authorize' : 'read'} ${answer.status}`
    })
    // The card exists in the world, or it doesn't; nothing else may happen.
    const legal = ['issue 503', 'authorize 200', 'authorize 404', 'authorize 503', 'read 200', 'read 404', 'read 503']
    expect([...statuses].filter((status) => !legal.includes(status))).toEqual([])
    expect([...statuses].some((status) => status.startsWith('authorize'))).toBe(true)
    await proveBooks(world.store)
  })
})
