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
 * Returns the maximum number of database round trips for a request. A read needs one round trip to look up the caller
 * and the time, and further round trips to look up its records.
 */
const maxRoundTrips = (operation: OperationDefinition) =>
  higherLimits[operation.name] ?? (operation.effect === 'read' ? 3 : 6)

/** The higher limits of operations that look up several records one after another. */
const higherLimits: Readonly<Record<string, number>> = {
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

let setup: Grounds
beforeAll(async () => {
  setup = await grounds(postgres, { keepsRuns: false })
})
afterAll(() => setup.world.drop())

test.each(sampleOf(operations, 4))('$name needs no more database round trips than its limit', async (operation) => {
  expect(await roundTripsOf(operation)).toBeLessThanOrEqual(maxRoundTrips(operation))
})

/**
 * Returns the number of round trips of an operation's second call. The first call makes the process remember the
 * credential.
 */
async function roundTripsOf(operation: OperationDefinition): Promise<number> {
  const cell = cellsOf(operation).find(
    ({ expected, sample, target, filter }) =>
      expected === permittedStatus(operation, sample) && filter === undefined && ['own', 'granted'].includes(target),
  )
  if (cell === undefined) throw new Error(`No credential may call ${operation.name}.`)
  const { sample, credential, target } = cell
  const place = setup.places[target as 'own' | 'granted']
  let roundTrips = 0
  for (let call = 0; call < 2; call++) {
    const ids = await sample.make(setup, place)
    const counter = countRoundTrips()
    const request = { key: setup.credentials[credential], ids }
    const answer = await send(
      setup,
      operation,
      sample,
      sample.reach === 'acting' && target === 'granted' ? { ...request, acting: place.partyId } : request,
    )
    roundTrips = counter.stop()
    expect(answer.status, `${operation.name}: ${answer.text}`).toBe(cell.expected)
  }
  return roundTrips
}

/**
 * Counts database round trips. A query that a connection sends before an earlier query is answered shares the round
 * trip of that query. PostgreSQL answers the queries of a connection in order, so the count does not depend on the
 * speed of the server.
 */
function countRoundTrips(): { stop(): number } {
  const { query } = pg.Client.prototype
  /**
   * Returns whether the query ends the transaction of a read. Such a query is not counted, because nothing waits for
   * its answer.
   */
  const isEnd = (statement: unknown) => (statement as { text?: string }).text === 'rollback'
  const connections = new Map<object, { started: number; answered: number }>()
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    if (isEnd(args[0])) return Reflect.apply(query, this, args)
    const counts = connections.get(this) ?? { started: 0, answered: 0 }
    connections.set(this, counts)
    const roundTrip = counts.answered + 1
    counts.started = Math.max(counts.started, roundTrip)
    const answer = Reflect.apply(query, this, args) as Promise<unknown>
    const settled = () => {
      counts.answered = Math.max(counts.answered, roundTrip)
    }
    answer.then(settled, settled)
    return answer
  } as typeof query
  return {
    stop: () => {
      pg.Client.prototype.query = query
      return [...connections.values()].reduce((sum, { started }) => sum + started, 0)
    },
  }
}
