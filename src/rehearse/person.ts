import { money } from '../core/money.ts'
import { createDecisionReviews } from '../service/pages/decide/review.ts'
import { actOfUser } from '../service/request/activity.ts'
import { runChange } from '../service/request/settled-transaction.ts'
import { isSelfManaged } from '../service/request/simulated-party.ts'
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

interface PendingDecision {
  id: string
  kind: 'approval' | 'question'
  partyId: string
  /** The time on the sandbox clock from which the person's delay, `afterMinutes`, is counted. */
  sinceMs: number
  /** The subject of the decision, such as "a payment of $5.00". */
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
 * The simulated person of a scenario. After a delay on the sandbox clock, the person decides on payments under review
 * and on tool calls that need a confirmation, as a signed-in user would.
 */
export class Person {
  readonly #options: PersonOptions
  readonly #pending = new Map<string, PendingDecision>()
  readonly #seen = new Set<string>()

  constructor(options: PersonOptions) {
    this.#options = options
  }

  /** Finds the approvals and questions that appeared since the last search. */
  async findDecisions(): Promise<void> {
    const { store } = this.#options.stage
    for (const found of await store.transaction(pendingIn)) {
      if (this.#seen.has(found.id)) continue
      this.#seen.add(found.id)
      if (this.#answerTo(found) !== 'never') this.#pending.set(found.id, found)
    }
  }

  /** The time of the person's next decision, by the sandbox clock; undefined if no decision is pending. */
  get nextMs(): number | undefined {
    const times = [...this.#pending.values()].map((one) => this.#decidesAtMs(one))
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** Makes one decision whose time has come, and returns it as an act. Returns undefined if no decision is due. */
  async act(nowMs: number): Promise<PersonAct | undefined> {
    const one = [...this.#pending.values()].find((decision) => this.#decidesAtMs(decision) <= nowMs)
    if (one === undefined) return undefined
    this.#pending.delete(one.id)
    const agrees = this.#answerTo(one) === 'yes'
    const verb = one.kind === 'approval' ? (agrees ? 'approves' : 'denies') : agrees ? 'says yes to' : 'says no to'
    return { what: `${verb} ${one.about}`, outcome: await this.#decide(one, agrees) }
  }

  #answerTo({ kind }: PendingDecision): Scenario['person']['approvals'] {
    const { approvals, questions } = this.#options.person
    return kind === 'approval' ? approvals : questions
  }

  #decidesAtMs({ sinceMs }: PendingDecision): number {
    return sinceMs + this.#options.person.afterMinutes * 60_000
  }

  async #decide(one: PendingDecision, agrees: boolean): Promise<string> {
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

  /** Marks the user's second factor as verified, without the page on which a real user would type a code. */
  async #verify(user: UserRow): Promise<void> {
    const { stage, system } = this.#options
    await runChange({ store: stage.store, system }, async ({ tx, nowMs }) => {
      await markVerified(tx, user.id, nowMs)
      return { result: undefined, acts: [actOfUser(user, { operation: 'verify_second_factor' })] }
    })
  }

  /** Decides in place of a customer that has no users, by calling the sandbox's simulation operations. */
  async #simulate({ id }: PendingDecision, agrees: boolean): Promise<string> {
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

async function pendingIn(tx: Transaction): Promise<PendingDecision[]> {
  const { nowMs, realNowMs } = await readTimes(tx)
  const pending = await tx.db
    .selectFrom('approvals')
    .selectAll()
    .where('status', '=', 'pending')
    .orderBy('id')
    .execute()
  const approvals = pending.map(async ({ id, partyId, paymentId, createdAtMs }): Promise<PendingDecision> => {
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
  const pendingDecisions = tx.db.selectFrom('pendingDecisions').selectAll().where('status', '=', 'pending')
  const rows = await pendingDecisions.where('expiresAtMs', '>', realNowMs).orderBy('id').execute()
  const questions = rows.map(async (row): Promise<PendingDecision> => {
    const { id, call } = await openDecision(tx, row)
    const about = `the call ${call.tool}`
    return { id, kind: 'question', partyId: row.partyId, sinceMs: nowMs, about, amountCents: 0 }
  })
  return Promise.all([...approvals, ...questions])
}

function userOf(tx: Transaction, partyId: string): Promise<UserRow | undefined> {
  return tx.db.selectFrom('users').selectAll().where('partyId', '=', partyId).orderBy('id').executeTakeFirst()
}
