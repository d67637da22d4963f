import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { nextTurn } from '../../src/core/system.ts'
import { StoreBusyError, type Transaction } from '../../src/service/store/engine/store.ts'
import { proveBooks } from '../ledger/books.ts'
import { databasesForLong } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { anotherProcess, createWorld, type World } from '../support/world.ts'

const [clients, times] = isDeep ? [64, 30] : [8, 6]

/** The names of two snapshots, and of the agent and wallet in each. An answer with both names reveals a mixture. */
const names = ['left', 'right'] as const

describe.each(databasesForLong)('concurrent requests while two snapshots are restored in turn on $name', (database) => {
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

  /** Lets each client send one request after another until `isOver` returns true. Returns each distinct answer once. */
  async function sendUntil(
    ask: (round: number, target: World) => Promise<string>,
    isOver: () => boolean,
  ): Promise<Set<string>> {
    const answers = new Set<string>()
    const client = async (number: number) => {
      const target = processes[number % processes.length] ?? world
      for (let round = number; !isOver(); round++) answers.add(await ask(round, target))
    }
    await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
    return answers
  }

  async function restoreRepeatedly(ask: (round: number, target: World) => Promise<string>): Promise<Set<string>> {
    let isOver = false
    const clientAnswers = sendUntil(ask, () => isOver)
    const between = new Set<string>()
    for (let time = 0; time < times; time++) {
      const [target, path] = [
        processes[time % 3 === 0 ? 1 : 0] ?? world,
        `/simulations/snapshots/${names[time % 2]}/restore`,
      ]
      const answer = await target.send('POST', path, { key: world.apiKey })
      // If the database is busy, the restore may be refused. It then has no effect.
      expect([200, 503], answer.text).toContain(answer.status)
      // Sends a request after each restore, so that answers come from both worlds even if clients send few requests.
      between.add(await ask(time, target))
    }
    isOver = true
    return new Set([...between, ...(await clientAnswers)])
  }

  const wallet = async ({ db }: Transaction) =>
    (await db.selectFrom('wallets').select('displayName').where('displayName', 'in', names).executeTakeFirst())
      ?.displayName
  const agent = async ({ db }: Transaction) =>
    (await db.selectFrom('agents').select('name').where('name', 'in', names).executeTakeFirst())?.name

  test('every read and every transaction sees only one of the two worlds', async () => {
    const both = async (tx: Transaction) => {
      const before = await wallet(tx)
      await nextTurn()
      return `${before} ${await agent(tx)}`
    }
    const unlessBusy = (error: unknown) => {
      if (error instanceof StoreBusyError) return 'busy'
      throw error
    }
    const answers = await restoreRepeatedly((round, { store }) => {
      if (round % 2 === 0) return store.read(both).catch(unlessBusy)
      return store.transaction(both, round % 4 === 1 ? { kind: 'both' } : {}).catch(unlessBusy)
    })
    answers.delete('busy')
    expect(answers.size).toBeGreaterThan(0)
    expect([...answers].filter((names) => !['left left', 'right right'].includes(names))).toEqual([])
  })

  test('every request gets one of the expected answers, and the books are consistent', async () => {
    let keys = 0
    const statuses = await restoreRepeatedly(async (round, target) => {
      const sent = () => ({ idempotencyKey: `own key ${keys++}` })
      const issued = await target.post(
        '/agent-cards',
        { merchant: { name: 'Books' }, maximumAmount: 500, currency: 'USD' },
        sent(),
      )
      if (issued.status !== 200) return `issue ${issued.status}`
      const { id } = issued.json.data
      const answer = await (round % 2 === 0 ? target.authorize(id, 100, sent()) : target.get(`/agent-cards/${id}`))
      return `${round % 2 === 0 ? 'authorize' : 'read'} ${answer.status}`
    })
    // A restore may remove the card (404), and a busy database may refuse a request (503).
    const legal = ['issue 503', 'authorize 200', 'authorize 404', 'authorize 503', 'read 200', 'read 404', 'read 503']
    expect([...statuses].filter((status) => !legal.includes(status))).toEqual([])
    expect([...statuses].some((status) => status.startsWith('authorize'))).toBe(true)
    await proveBooks(world.store)
  })
})
