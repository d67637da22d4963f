import { nextTurn, type System, seal, sha256 } from '../../core/system.ts'
import { secretsSealedBefore, storeSecretsOfRetiredKeys, updateSealedSecret } from '../store/carried-secrets.ts'
import { readTimes, realNow, type Times } from '../store/clock.ts'
import type { Store, Transaction } from '../store/engine/store.ts'
import { type AnyRow, rowsAfter } from '../store/engine/table-rows.ts'
import { addRootKey, carriedBox, forgetRootKeys, lockKeys, openCarriedSecret, rootKeys } from '../store/root-keys.ts'
import type { CarriedSecretRow } from '../store/schema/carried-secrets.ts'
import type { Tables } from '../store/schema/tables.ts'
import { derivationTexts, type RetiringKey } from './derivation-texts.ts'

/**
 * The number of rows per transaction. It is small so that each transaction takes only a few milliseconds, and other
 * transactions do not wait long.
 */
const batch = 200
/**
 * The maximum number of passes over all rows. If the sandbox is reset during a pass, one more pass is needed, because
 * the reset may restore rows that have not been processed.
 */
const maxPasses = 10

export interface Retired {
  /** The id of the new root key. */
  rootKey: number
  /** The ids of the deleted root keys. */
  retired: number[]
}

/**
 * Creates a root key and deletes all older root keys. First stores, in batches, the secrets that the older keys derived
 * and that are still needed. The older keys exist until the end. Therefore the process can be killed, and the work can
 * be repeated or done by two processes at the same time, while other processes use the database.
 */
export async function retireRootKeys(store: Store, system: System): Promise<Retired> {
  const rootKey = await store.transaction(async (tx) => addRootKey(tx, system, await realNow(tx)))
  const { nowMs: endsAtMs } = await store.transaction(lockKeysAndReadTimes)
  for (let pass = 1; pass <= maxPasses; pass++) {
    const { epoch } = await store.read(readTimes)
    await preserveSecrets(store, system, endsAtMs)
    await resealSecrets(store, system, rootKey)
    const retired = await store.transaction((tx) => deleteOldKeys(tx, system, { rootKey, epoch }))
    if (retired !== undefined) return { rootKey, retired }
  }
  throw new Error('The sandbox was reset too often while keys were retired. Try again when nobody resets it.')
}

/**
 * Waits for the end of every transaction that may have begun before the newest key existed, then reads the time. Later
 * transactions derive new secrets only from the newest key.
 */
async function lockKeysAndReadTimes(tx: Transaction): Promise<Times> {
  await lockKeys(tx)
  return readTimes(tx)
}

async function preserveSecrets(store: Store, system: System, endsAtMs: number): Promise<void> {
  const preserve = createPreserver(system, endsAtMs)
  for (const table of Object.keys(derivationTexts) as (keyof Tables)[]) {
    await eachBatch(store, table, (tx, rows) => preserve(tx, table, rows))
  }
  // The rows of a snapshot need their secrets again when the snapshot is restored.
  await eachBatch(store, 'snapshotRows', async (tx, parts) => {
    for (const { tableName, rows } of parts) {
      const table = Object.keys(derivationTexts).find((name): name is keyof Tables => name === tableName)
      if (table !== undefined) await preserve(tx, table, JSON.parse(String(rows)) as AnyRow[])
    }
  })
}

async function eachBatch(
  store: Store,
  table: keyof Tables,
  work: (tx: Transaction, rows: readonly AnyRow[]) => Promise<void>,
): Promise<void> {
  const limit = table === 'snapshotRows' ? 1 : batch
  for (let last: AnyRow | undefined; ; await nextTurn()) {
    const after = last
    const rows = await store.transaction(async (tx) => {
      const found = await rowsAfter(tx, table, after, limit)
      await work(tx, found)
      return found
    })
    last = rows.at(-1)
    // Rows inserted after this loop began have secrets of the newest key, so the loop may miss these rows.
    if (rows.length < limit) return
  }
}

type Preserve = (tx: Transaction, table: keyof Tables, rows: readonly AnyRow[]) => Promise<void>

/**
 * Returns a function that takes rows, and stores the secrets that older keys derived for these rows. The stored secrets
 * are sealed with the newest key.
 */
function createPreserver(system: System, endsAtMs: number): Preserve {
  return async (tx, table, rows) => {
    const { ids, newestId, derive, signBy } = await rootKeys(tx)
    const textsOf = derivationTexts[table] as ((row: AnyRow, key: RetiringKey) => readonly string[]) | undefined
    if (textsOf === undefined) throw new Error(`Bug: nothing is derived for ${table}.`)
    const carried = ids.slice(1).flatMap((keyId) => {
      const key = { id: keyId, endsAtMs, sign: (text: string) => signBy(keyId, text) }
      return rows
        .flatMap((row) => textsOf(row, key))
        .map((text): CarriedSecretRow => {
          const textHash = sha256(text)
          const sealed = seal(system, derive(newestId, carriedBox(keyId, textHash)), derive(keyId, text))
          return { textHash, keyId, sealedBy: newestId, sealed }
        })
    })
    await storeSecretsOfRetiredKeys(tx, carried)
  }
}

/** Reseals stored secrets that an older key sealed, so that the newest key seals all stored secrets. */
async function resealSecrets(store: Store, system: System, rootKey: number): Promise<void> {
  for (let count = batch; count === batch; await nextTurn()) {
    count = await store.transaction(async (tx) => {
      const { newestId, derive } = await rootKeys(tx)
      const rows = await secretsSealedBefore(tx, rootKey, batch)
      for (const row of rows) {
        const secret = await openCarriedSecret(tx, row)
        const sealed = seal(system, derive(newestId, carriedBox(row.keyId, row.textHash)), secret)
        await updateSealedSecret(tx, { ...row, sealedBy: newestId, sealed })
      }
      return rows.length
    })
  }
}

interface Boundary {
  rootKey: number
  epoch: number
}

/**
 * Deletes the keys older than `rootKey` and returns their ids. If there may be rows that the pass has not processed,
 * deletes nothing and returns undefined.
 */
async function deleteOldKeys(tx: Transaction, system: System, boundary: Boundary): Promise<number[] | undefined> {
  const { rootKey, epoch } = boundary
  await lockKeys(tx)
  // Returns early if the sandbox was reset during the pass, or if another process has stored secrets sealed with an
  // older key.
  if ((await readTimes(tx)).epoch !== epoch) return undefined
  if ((await secretsSealedBefore(tx, rootKey, 1)).length > 0) return undefined
  const retired = (await rootKeys(tx)).ids.filter((id) => id < rootKey)
  await forgetRootKeys(tx, system, retired)
  return retired
}
