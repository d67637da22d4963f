import { money } from '../core/money.ts'
import { createDecisionReviews } from '../service/pages/decide/review.ts'
import { actOfUser } from '../service/request/activity.ts'
import { isSelfManaged } from '../service/request/played-party.ts'
import { runChange } from '../service/request/settled-transaction.ts'
import { mfaThresholdCents } from '../service/rules/approvals.ts'
import { readTimes } from '../service/store/clock.ts'
import type { Transaction } from '../service/store/engine/store.ts'
import { findPayment } from '../service/store/payments.ts'
import { openDecision } from '../service/store/pending-decisions.ts'
import type { UserRow } from '../service/store/schema/users.ts'
import { markVerified } from '../service/store/users.ts'
import type { Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'
import type { TrialSystem } from './trial-system.ts'

interface Waiting {
  id: string
  kind: 'approval' | 'question'
  partyId: string
  /** The time at which the person's delay begins, by the sandbox's clock. */
  sinceMs: number
  /** The subject, such as "a payment of $5.00". */
  about: string
  amountCents: number
}

/** An act of the person. */
export interface PersonAct {
  what: string
  outcome: string
}

interface PersonOptions {
  stage: Pick<Stage, 'store' | 'service' | 'agentKey' | 'url'>
  system: TrialSystem
  person: Scenario['person']
}

/**
 * A scenario's simulated person. The person decides on approvals and questions as a signed-in user of the world would,
 * after a delay by the sandbox's clock.
 */
export class Person {
  readonly #options: PersonOptions
  readonly #waiting = new Map<string, Waiting>()
  readonly #known = new Set<string>()

  constructor(options: PersonOptions) {
    this.#options = options
  }

  /** Finds new approvals and questions. */
  async look(): Promise<void> {
    const { store } = this.#options.stage
    for (const found of await store.transaction(pendingIn)) {
      if (this.#known.has(found.id)) continue
      this.#known.add(found.id)
      if (this.#answerTo(found) !== 'never') this.#waiting.set(found.id, found)
    }
  }

  /** Returns the time of the next decision by the sandbox's clock; undefined if no decision is pending. */
  get nextMs(): number | undefined {
    const times = [...this.#waiting.values()].map((one) => this.#decidesAtMs(one))
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** Makes one due decision and returns it; undefined if no decision is due. */
  async act(nowMs: number): Promise<PersonAct | undefined> {
    const one = [...this.#waiting.values()].find((waiting) => this.#decidesAtMs(waiting) <= nowMs)
    if (one === undefined) return undefined
    this.#waiting.delete(one.id)
    const agrees = this.#answerTo(one) === 'yes'
    const verb = one.kind === 'approval' ? (agrees ? 'approves' : 'denies') : agrees ? 'says yes to' : 'says no to'
    return { what: `${verb} ${one.about}`, outcome: await this.#decide(one, agrees) }
  }

  #answerTo({ kind }: Waiting): Scenario['person']['approvals'] {
    const { approvals, questions } = this.#options.person
    return kind === 'approval' ? approvals : questions
  }

  #decidesAtMs({ sinceMs }: Waiting): number {
    return sinceMs + this.#options.person.afterMinutes * 60_000
  }

  async #decide(one: Waiting, agrees: boolean): Promise<string> {
    const { store, service } = this.#options.stage
    const { reportEntry } = service
    const user = await store.transaction((tx) => userOf(tx, one.partyId))
    if (one.kind === 'question') {
      if (user === undefined) throw new Error(`The world's party ${one.partyId} has no user who can decide.`)
      const reviews = createDecisionReviews({ store, system: this.#options.system, reportEntry })
      return (await reviews.decide(one.id, user, agrees ? 'yes' : 'no')) ? 'ok' : 'too late'
    }
    if (user === undefined) {
      if (await store.transaction((tx) => isSelfManaged(tx, one.partyId))) {
        throw new Error(`The world's party ${one.partyId} has keys but no user who can decide: add a user to it.`)
      }
      return this.#simulate(one, agrees)
    }
    if (agrees && one.amountCents > mfaThresholdCents) await this.#verify(user)
    const operation = agrees ? 'approveApproval' : 'denyApproval'
    const { status, body } = await service.actAs(user, operation, { params: { approvalId: one.id } })
    return outcomeOf(status, body)
  }

  /** Marks the user's second factor as verified, without the page where they would type a code. */
  async #verify(user: UserRow): Promise<void> {
    const { stage, system } = this.#options
    await runChange({ store: stage.store, system }, async ({ tx, nowMs }) => {
      await markVerified(tx, user.id, nowMs)
      return { result: undefined, acts: [actOfUser(user, { operation: 'verify_second_factor' })] }
    })
  }

  /** Decides for a customer without users, through the sandbox's simulation. */
  async #simulate({ id }: Waiting, agrees: boolean): Promise<string> {
    const { stage, system } = this.#options
    const path = `/simulations/approvals/${id}/${agrees ? 'approve' : 'deny'}`
    const headers = {
      Authorization: `Bearer ${stage.agentKey}`,
      'Idempotency-Key': `person-${id}-${system.now()}`,
      'X-Instance-ID': 'the person',
    }
    const response = await stage.service.fetch(new Request(`${stage.url()}${path}`, { method: 'POST', headers }))
    return outcomeOf(response.status, await response.text())
  }
}

function outcomeOf(status: number, body: string): string {
  if (status < 400) return 'ok'
  return (JSON.parse(body) as { errors: { code: string }[] }).errors[0]?.code ?? String(status)
}

async function pendingIn(tx: Transaction): Promise<Waiting[]> {
  const { nowMs, realNowMs } = await readTimes(tx)
  const pending = await tx.db
    .selectFrom('approvals')
    .selectAll()
    .where('status', '=', 'pending')
    .orderBy('id')
    .execute()
  const approvals = pending.map(async ({ id, partyId, paymentId, createdAtMs }): Promise<Waiting> => {
    const amountCents = (await findPayment(tx, partyId, paymentId))?.amountCents ?? 0
    return {
      id,
      kind: 'approval',
      partyId,
      sinceMs: createdAtMs,
      about: `a payment of ${money(amountCents)}`,
      amountCents,
    }
  })
  const held = tx.db.selectFrom('pendingDecisions').selectAll().where('status', '=', 'pending')
  const rows = await held.where('expiresAtMs', '>', realNowMs).orderBy('id').execute()
  const questions = rows.map(async (row): Promise<Waiting> => {
    const { id, call } = await openDecision(tx, row)
    const about = `the call ${call.tool}`
    return { id, kind: 'question', partyId: row.partyId, sinceMs: nowMs, about, amountCents: 0 }
  })
  return Promise.all([...approvals, ...questions])
}

function userOf(tx: Transaction, partyId: string): Promise<UserRow | undefined> {
  return tx.db.selectFrom('users').selectAll().where('partyId', '=', partyId).orderBy('id').executeTakeFirst()
}
