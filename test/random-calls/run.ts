import { expect } from 'vitest'
import { ConnectionCutError } from '../../src/core/faults.ts'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { firstTampered } from '../../src/service/request/activity.ts'
import { type Random, randomFrom } from '../../src/simulate/random.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { currentStateAsResetPoint } from '../isolation/makers.ts'
import { type Grounds, grounds } from '../isolation/places.ts'
import { proveBooks } from '../ledger/books.ts'
import type { TestDatabase } from '../support/databases.ts'
import type { Answer } from '../support/world.ts'
import { answerCheck } from './answers.ts'
import { type Call, type Drawing, drawCall, drawInterlude, drawOperation, sharedIds } from './draw.ts'
import { LiveIds, Values } from './values.ts'

/** The number of calls between two checks of all books. */
const stretch = 500

const operationKeys = Object.keys(catalogue) as OperationKey[]

/** Sends random calls to a service, and proves everything that must hold after any call. */
export class RandomRun {
  readonly #drawing: Drawing
  readonly #undescribed: ReturnType<typeof answerCheck>
  readonly #calls = new Map<OperationKey, number>()
  readonly #successes = new Map<OperationKey, number>()
  readonly #statuses = new Map<number, number>()
  /** Calls with an idempotency key that can be repeated. */
  readonly #repeatable: Call[] = []
  /** The answers to each key. A key has several if the service forgot the first, after two days or a reset. */
  readonly #answers = new Map<string, Set<string>>()
  /** Keys whose recorded answer was withheld by a fault, so that only a replay shows it. */
  readonly #lost = new Set<string>()
  readonly #wrong: string[] = []
  #cut = 0
  #replayed = 0

  constructor(drawing: Drawing, document: object) {
    this.#drawing = drawing
    this.#undescribed = answerCheck(document)
  }

  static async begin(database: TestDatabase, seed: string): Promise<RandomRun> {
    const on = await grounds(database)
    // A reset returns to this state.
    await currentStateAsResetPoint(on, on.places.own)
    const random = randomFrom(seed)
    const ids = new LiveIds(random)
    const values = new Values(random, ids, () => on.world.system.now())
    const document = (await on.world.get('/openapi.json')).json
    return new RandomRun({ on, random, ids, values, protectedIds: await sharedIds(on) }, document)
  }

  get #on(): Grounds {
    return this.#drawing.on
  }

  get #random(): Random {
    return this.#drawing.random
  }

  async make(count: number): Promise<void> {
    const random = this.#random
    for (let made = 1; made <= count; made += 1) {
      const interlude = drawInterlude(random)
      if (interlude !== undefined) await this.#perform(await drawCall(this.#drawing, interlude, 'made'))
      const isRepeat = this.#repeatable.length > 0 && random.chance(6)
      const call = isRepeat ? random.pick(this.#repeatable) : await drawCall(this.#drawing, drawOperation(random))
      await this.#perform(call)
      if (random.chance(5)) this.#on.world.system.pass(random.int(1, 3_600_000))
      if (made % stretch === 0 || made === count) await this.#prove()
    }
  }

  /** Calls each operation that never succeeded, with correct arguments and without a fault. */
  async callUnsuccessful(): Promise<void> {
    for (const key of this.unsuccessful()) {
      for (let tries = 0; tries < 5 && !this.#successes.has(key); tries += 1) {
        await this.#on.world.send('DELETE', '/simulations/faults', { key: this.#on.world.apiKey })
        await this.#perform(await drawCall(this.#drawing, key, 'made'))
      }
    }
    await this.#prove()
  }

  /** Returns the operations that never succeeded. */
  unsuccessful(): OperationKey[] {
    return operationKeys.filter((key) => !this.#successes.has(key))
  }

  /** Returns the number of successful calls and of all calls for each operation. */
  table(): string {
    const statuses = [...this.#statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
    const rows = operationKeys.toSorted().map((key) => {
      return `  ${key} ${this.#successes.get(key) ?? 0} of ${this.#calls.get(key) ?? 0}`
    })
    return [`${statuses.join(', ')}; ${this.#cut} cut, ${this.#replayed} replayed`, ...rows].join('\n')
  }

  async end(): Promise<void> {
    await this.#on.world.drop()
  }

  async #perform(call: Call): Promise<void> {
    const answer = await this.#send(call)
    this.#calls.set(call.key, (this.#calls.get(call.key) ?? 0) + 1)
    const operation: OperationDefinition = catalogue[call.key]
    if (operation.idempotency === 'required' && this.#repeatable.push(call) > 50) this.#repeatable.shift()
    if (answer === undefined) return
    const { status, text } = answer
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1)
    const wrong = [...this.#undescribed(operation, answer), ...this.#misreplayed(call, answer)]
    if (status === 500) wrong.push(text)
    this.#wrong.push(...wrong.map((what) => `${call.method} ${call.path} ${call.body ?? ''}: ${what}`))
    this.#drawing.ids.learn(text)
    if (status < 300) this.#successes.set(call.key, (this.#successes.get(call.key) ?? 0) + 1)
  }

  /** Sends the call. Returns undefined if a fault cut the connection. */
  async #send({ method, path, credential, idempotencyKey, instanceId, body }: Call): Promise<Answer | undefined> {
    try {
      const sent = { key: credential, idempotencyKey, instanceId, ...(body === undefined ? {} : { body }) }
      return await this.#on.world.send(method, path, sent)
    } catch (error) {
      if (!(error instanceof ConnectionCutError)) throw error
      this.#cut += 1
      this.#lost.add(idempotencyKey)
      return undefined
    }
  }

  #misreplayed({ idempotencyKey }: Call, { status, headers, text }: Answer): string[] {
    const answers = this.#answers.get(idempotencyKey) ?? new Set()
    if (headers.get('x-idempotency-replayed') !== 'true') {
      this.#answers.set(idempotencyKey, answers.add(text))
      if (status === 503) this.#lost.add(idempotencyKey)
      return []
    }
    this.#replayed += 1
    if (this.#lost.delete(idempotencyKey)) this.#answers.set(idempotencyKey, answers.add(text))
    return answers.has(text) ? [] : ['replays an answer that was never given']
  }

  async #prove(): Promise<void> {
    const { store, alarms } = this.#on.world
    expect(this.#wrong).toEqual([])
    expect(alarms.filter((line) => /unexpectedly|^Bug:/.test(line))).toEqual([])
    await proveBooks(store)
    const parties = await store.read(({ db }) => db.selectFrom('parties').select('id').execute())
    for (const { id } of parties) expect(await store.transaction((tx) => firstTampered(tx, id)), id).toBeNull()
  }
}
