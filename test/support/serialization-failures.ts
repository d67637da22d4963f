import pg from 'pg'

/**
 * The failure rates: one in 100 statements and one in 30 commits. Failures are more frequent than under any real load.
 * However, they are so rare that a transaction does not run out of attempts.
 */
const oneIn = { statement: 100, commit: 30 } as const

/** SQL that fails on the server with a serialization failure. */
const failingSql = "do $$ begin raise exception 'injected by the tests' using errcode = '40001'; end $$"
const begins = /^(begin|start transaction) isolation level read committed/
const changedName = 'query with injected failures'
const isControl = /^(rollback|savepoint|set|release)\b/

/**
 * Implements `TEST_POSTGRES=serializable`: makes all transactions serializable, and makes random statements and commits
 * fail with 40001. The server itself raises the error. Therefore, the server really aborts the transaction and refuses
 * its later statements.
 */
export function makeSerializable(): void {
  // Each test file loads this module again, but not the driver. Therefore, the driver may already be changed.
  if (pg.Client.prototype.query.name === changedName) return
  const seed = Number(process.env.TEST_SEED ?? process.pid)
  console.info(`PostgreSQL is serializable, with random failures. Repeat them with TEST_SEED=${seed}.`)
  const random = generator(seed)
  const inside = new WeakSet<pg.Client>()
  const { query } = pg.Client.prototype
  const changed = function (this: pg.Client, config: unknown, ...rest: unknown[]) {
    const send = (sent: unknown) => Reflect.apply(query, this, [sent, ...rest])
    const fail = (sent: string) =>
      Reflect.apply(query, this, [sent, ...rest.filter((one) => typeof one === 'function')])
    const text = typeof config === 'string' ? config : String((config as pg.QueryConfig).text)
    if (begins.test(text)) {
      inside.add(this)
      return send(text.replace('read committed', 'serializable'))
    }
    if (!inside.has(this)) return send(config)
    const isCommit = text === 'commit'
    if (isCommit || text === 'rollback') inside.delete(this)
    // A commit that fails must also end the transaction, so a rollback comes first.
    if (isCommit) return random() * oneIn.commit < 1 ? fail(`rollback; ${failingSql}`) : send(config)
    return !isControl.test(text) && random() * oneIn.statement < 1 ? fail(failingSql) : send(config)
  }
  pg.Client.prototype.query = Object.defineProperty(changed, 'name', { value: changedName }) as typeof query
}

/** Returns a random number generator that produces the same sequence for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
