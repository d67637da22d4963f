import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { catalogue } from '../../tools/index.ts'
import { cellsOf } from '../isolation/cells.ts'
import { type Grounds, grounds } from '../isolation/places.ts'
import { send } from '../isolation/prober.ts'
import { permittedStatus } from '../isolation/samples.ts'
import { postgres } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'

/**
 * Returns the highest number of database round trips for a request. A read needs one for the caller and the time, and
 * others for its records.
 */
const maxStatements = (operation: OperationDefinition) => more[operation.name] ?? (operation.effect === 'read' ? 3 : 6)

/** The limits of rare operations that look up several records in sequence. */
const more: Readonly<Record<string, number>> = {
  advance_sandbox_clock: 9,
  approve_approval: 7,
  clear_sandbox_faults: 7,
  create_agent_customer_invitation: 8,
  create_agent_key: 7,
  create_customer_invitation: 10,
  create_payment_request: 7,
  create_party_invitations: 10,
  delete_sandbox_snapshot: 8,
  delete_agent: 11,
  detach_wallet_agent: 7,
  freeze_wallet: 8,
  fulfill_payment_request: 8,
  get_approval: 5,
  get_event: 5,
  get_wallet: 4,
  list_agent_customers: 4,
  list_approvals: 4,
  list_customer_invitations: 5,
  list_events: 6,
  list_subscription_payments: 4,
  list_wallets: 4,
  remove_agent_customer: 8,
  remove_customer: 7,
  remove_customer_agent: 10,
  resend_event: 9,
  set_sandbox_fault: 8,
  remove_party_member: 8,
  reset_sandbox: 20,
  restore_sandbox: 21,
  save_sandbox: 16,
  set_party_handle: 14,
  send_test_event: 8,
  simulate_agent_revocation: 9,
  simulate_customer_approval: 12,
  simulate_customer_denial: 11,
  simulate_customer_disconnection: 8,
  simulate_customer_invitation: 10,
  simulate_invitation_acceptance: 13,
  simulate_payment_claim: 12,
  simulate_payment_request_fulfillment: 10,
  unfreeze_wallet: 7,
}

const operations: OperationDefinition[] = Object.values(catalogue)

let on: Grounds
beforeAll(async () => {
  on = await grounds(postgres, { keepsRuns: false })
})
afterAll(() => on.world.drop())

test.each(sampleOf(operations, 4))('$name stays within its number of database round trips', async (operation) => {
  expect(await waitsOf(operation)).toBeLessThanOrEqual(maxStatements(operation))
})

/** Counts on the second call, because the first one makes the credential known to the process. */
async function waitsOf(operation: OperationDefinition): Promise<number> {
  const cell = cellsOf(operation).find(
    ({ expected, sample, target, filter }) =>
      expected === permittedStatus(operation, sample) && filter === undefined && ['own', 'granted'].includes(target),
  )
  if (cell === undefined) throw new Error(`Nobody may ${operation.name}.`)
  const { sample, credential, target } = cell
  const place = on.places[target as 'own' | 'granted']
  let waits = 0
  for (let time = 0; time < 2; time++) {
    const ids = await sample.make(on, place)
    const counter = countWaits()
    const request = { key: on.credentials[credential], ids }
    const answer = await send(
      on,
      operation,
      sample,
      sample.reach === 'acting' && target === 'granted' ? { ...request, acting: place.partyId } : request,
    )
    waits = counter.stop()
    expect(answer.status, `${operation.name}: ${answer.text}`).toBe(cell.expected)
  }
  return waits
}

/**
 * Counts how often the process waits for an answer before the next query. A connection answers its queries in order, so
 * the count does not depend on speed.
 */
function countWaits(): { stop(): number } {
  const { query } = pg.Client.prototype
  /** Returns whether the query ends a read; nobody waits for that. */
  const isEnd = (statement: unknown) => (statement as { text?: string }).text === 'rollback'
  const waited = new Map<object, { asked: number; answered: number }>()
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    if (isEnd(args[0])) return Reflect.apply(query, this, args)
    const on = waited.get(this) ?? { asked: 0, answered: 0 }
    waited.set(this, on)
    const mine = on.answered + 1
    on.asked = Math.max(on.asked, mine)
    const answer = Reflect.apply(query, this, args) as Promise<unknown>
    const settled = () => {
      on.answered = Math.max(on.answered, mine)
    }
    answer.then(settled, settled)
    return answer
  } as typeof query
  return {
    stop: () => {
      pg.Client.prototype.query = query
      return [...waited.values()].reduce((sum, { asked }) => sum + asked, 0)
    },
  }
}
