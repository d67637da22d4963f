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

/** The number of calls between two checks of the answers, the books and the activity chains. */
const callsPerCheck = 500

const operationKeys = Object.keys(catalogue) as OperationKey[]

/** Sends random calls to a service, and checks what must be true after any sequence of calls. */
export class RandomRun {
  readonly #drawing: Drawing
  readonly #contradictions: ReturnType<typeof answerCheck>
  readonly #calls = new Map<OperationKey, number>()
  readonly #successes = new Map<OperationKey, number>()
  readonly #statuses = new Map<number, number>()
  /** The latest calls of operations that require an idempotency key. Some of these calls are sent again. */
  readonly #repeatable: Call[] = []
  /** The answers for each idempotency key. A key has several if the service forgot the first one, as after a reset. */
  readonly #answers = new Map<string, Set<string>>()
  /** Idempotency keys whose recorded answer may have been lost to a fault. Only a replay shows that answer. */
  readonly #keysOfLostAnswers = new Set<string>()
  readonly #problems: string[] = []
  #cut = 0
  #replayed = 0

  constructor(drawing: Drawing, document: object) {
    this.#drawing = drawing
    this.#contradictions = answerCheck(document)
  }

  static async begin(database: TestDatabase, seed: string): Promise<RandomRun> {
    const on = await grounds(database)
    // Later calls that reset the sandbox restore this state.
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
    for (let number = 1; number <= count; number += 1) {
      const interlude = drawInterlude(random)
      if (interlude !== undefined) await this.#perform(await drawCall(this.#drawing, interlude, 'made'))
      const isRepeat = this.#repeatable.length > 0 && random.chance(6)
      const call = isRepeat ? random.pick(this.#repeatable) : await drawCall(this.#drawing, drawOperation(random))
      await this.#perform(call)
      if (random.chance(5)) this.#on.world.system.pass(random.int(1, 3_600_000))
      if (number % callsPerCheck === 0 || number === count) await this.#check()
    }
  }

  /** Calls each operation that has not succeeded yet, up to five times, with correct arguments and no active fault. */
  async callUnsuccessful(): Promise<void> {
    for (const key of this.unsuccessful()) {
      for (let tries = 0; tries < 5 && !this.#successes.has(key); tries += 1) {
        await this.#on.world.send('DELETE', '/simulations/faults', { key: this.#on.world.apiKey })
        await this.#perform(await drawCall(this.#drawing, key, 'made'))
      }
    }
    await this.#check()
  }

  /** Returns the operations that have not succeeded yet. */
  unsuccessful(): OperationKey[] {
    return operationKeys.filter((key) => !this.#successes.has(key))
  }

  /** Returns a table as text: the answers of each status, and the successful calls and all calls of each operation. */
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
    const problems = [...this.#contradictions(operation, answer), ...this.#replayProblems(call, answer)]
    if (status === 500) problems.push(text)
    this.#problems.push(...problems.map((problem) => `${call.method} ${call.path} ${call.body ?? ''}: ${problem}`))
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
      this.#keysOfLostAnswers.add(idempotencyKey)
      return undefined
    }
  }

  #replayProblems({ idempotencyKey }: Call, { status, headers, text }: Answer): string[] {
    const answers = this.#answers.get(idempotencyKey) ?? new Set()
    if (headers.get('x-idempotency-replayed') !== 'true') {
      this.#answers.set(idempotencyKey, answers.add(text))
      if (status === 503) this.#keysOfLostAnswers.add(idempotencyKey)
      return []
    }
    this.#replayed += 1
    if (this.#keysOfLostAnswers.delete(idempotencyKey)) this.#answers.set(idempotencyKey, answers.add(text))
    return answers.has(text) ? [] : ['the replay differs from every earlier answer']
  }

  async #check(): Promise<void> {
    const { store, alarms } = this.#on.world
    expect(this.#problems).toEqual([])
    expect(alarms.filter((line) => /unexpectedly|^Bug:/.test(line))).toEqual([])
    await proveBooks(store)
    const parties = await store.read(({ db }) => db.selectFrom('parties').select('id').execute())
    for (const { id } of parties) expect(await store.transaction((tx) => firstTampered(tx, id)), id).toBeNull()
  }
}
