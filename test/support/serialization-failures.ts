import pg from 'pg'

/**
 * One in this many statements, and one in this many commits, fails. That is more often than under any real load, but
 * too rarely to exhaust a store's attempts.
 */
const oneIn = { statement: 100, commit: 30 } as const

/** SQL that fails on the server with a serialization failure. */
const givingWay = "do $$ begin raise exception 'injected by the tests' using errcode = '40001'; end $$"
const begins = /^(begin|start transaction) isolation level read committed/
const changing = 'query that gives way'
const isControl = /^(rollback|savepoint|set|release)\b/

/**
 * Makes all transactions serializable, and their statements and commits fail with 40001 at random, for
 * `TEST_POSTGRES=serializable`. The server itself fails, so it really rolls back the transaction and refuses all later
 * statements.
 */
export function makeSerializable(): void {
  // Test modules are loaded again for each file, but the driver is not.
  if (pg.Client.prototype.query.name === changing) return
  const seed = Number(process.env.TEST_SEED ?? process.pid)
  console.info(`PostgreSQL is serializable, and fails at random: TEST_SEED=${seed}`)
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
    // A failed commit also ends the transaction.
    if (isCommit) return random() * oneIn.commit < 1 ? fail(`rollback; ${givingWay}`) : send(config)
    return !isControl.test(text) && random() * oneIn.statement < 1 ? fail(givingWay) : send(config)
  }
  pg.Client.prototype.query = Object.defineProperty(changed, 'name', { value: changing }) as typeof query
}

/** Returns a generator of random numbers that repeats for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
