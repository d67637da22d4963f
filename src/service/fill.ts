import type { Environment } from '../core/operation.ts'
import { parseTimestamp, type System } from '../core/system.ts'
import type { World } from '../worlds/schema.ts'
import { planCards } from './fill/cards.ts'
import { planGrants, planInvitations } from './fill/connections.ts'
import { insertKeys } from './fill/keys.ts'
import type { PasswordHashes } from './fill/passwords.ts'
import { planPayments } from './fill/payments.ts'
import { insertAccount, insertActors, setWalletStatuses, stopParties } from './fill/people.ts'
import { planSubscriptions } from './fill/subscriptions.ts'
import { WorldBuilder } from './fill/world-builder.ts'
import { moveClock, readTimes } from './store/clock.ts'
import type { Transaction } from './store/engine/store.ts'
import { rootKeys } from './store/root-keys.ts'
import { putWorld } from './store/world.ts'

interface Target {
  tx: Transaction
  system: System
  environment: Environment
  /** The digest of the world. Each later startup compares this digest with the digest of the requested world. */
  digest: string
  passwords: PasswordHashes
}

/**
 * Inserts a world into an empty database, within an open transaction (docs/sandbox.md#worlds). Inserts the parties,
 * then applies the events of their history in chronological order, under the service's rules. The seeded keys get their
 * secrets later during startup.
 * @throws InvalidWorldError for a world that is invalid or has an impossible history.
 */
export async function fillWorld({ tx, system, environment, digest, passwords }: Target, world: World): Promise<void> {
  const { nowMs } = await readTimes(tx)
  const clockMs = world.clock === undefined ? nowMs : parseTimestamp(world.clock)
  const builder = new WorldBuilder({ tx, system, environment, keys: await rootKeys(tx), world, passwords, clockMs })
  const indexes = builder.accounts.keys().toArray()
  for (const index of indexes) {
    planGrants(builder, index)
    planInvitations(builder, index)
    planCards(builder, index)
    planPayments(builder, index)
    planSubscriptions(builder, index)
  }
  const openings = builder.history.openings(walletBalances(builder))
  for (const index of indexes) await insertAccount(builder, index, openings)
  for (const index of indexes) await insertActors(builder, index)
  await insertKeys(builder)
  await builder.history.apply()
  await stopParties(builder)
  for (const index of indexes) await setWalletStatuses(builder, index)
  if (clockMs !== nowMs) await moveClock(tx, clockMs - nowMs)
  await putWorld(tx, {
    digest,
    firstPartyId: builder.account(0).id,
    isRehearsal: world.rehearsal ? 1 : 0,
    startsAtMs: world.clock === undefined ? null : clockMs,
    shops: world.shops === undefined ? null : JSON.stringify(world.shops),
  })
}

function walletBalances({ accounts }: WorldBuilder) {
  return accounts.flatMap(({ party, wallets }, index) =>
    wallets.map((wallet, at) => {
      return { wallet, balance: party.wallets?.[at]?.balance, path: ['parties', index, 'wallets', at] }
    }),
  )
}
