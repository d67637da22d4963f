import type { Store, Transaction } from './store.ts'

/**
 * Wraps what keys lie in the database as they are, or under a secret that is being replaced; true when there were any.
 * @throws WrongSecretError when the secret of this start does not open them.
 */
export async function wrapKeys(store: Store): Promise<boolean> {
  if (await store.read(allCurrent)) return false
  await store.transaction(async (tx) => {
    // Of two processes that start at once, one finds it done.
    await tx.lock('keys at rest')
    const { db, wrapping } = tx
    for (const { id, secret } of await db.selectFrom('rootKeys').select(['id', 'secret']).execute()) {
      if (await wrapping.isCurrent(secret)) continue
      const wrapped = await wrapping.wrap(await wrapping.open(secret))
      await db.updateTable('rootKeys').set({ secret: wrapped }).where('id', '=', id).execute()
    }
    for (const { kid, jwk } of await db.selectFrom('signingKeys').select(['kid', 'jwk']).execute()) {
      if (await wrapping.isCurrent(jwk)) continue
      const wrapped = await wrapping.wrap(await wrapping.open(jwk))
      await db.updateTable('signingKeys').set({ jwk: wrapped }).where('kid', '=', kid).execute()
    }
  })
  return true
}

async function allCurrent({ db, wrapping }: Transaction): Promise<boolean> {
  const secrets = await db.selectFrom('rootKeys').select('secret').execute()
  const jwks = await db.selectFrom('signingKeys').select('jwk').execute()
  for (const stored of [...secrets.map(({ secret }) => secret), ...jwks.map(({ jwk }) => jwk)]) {
    if (!(await wrapping.isCurrent(stored))) return false
  }
  return true
}
