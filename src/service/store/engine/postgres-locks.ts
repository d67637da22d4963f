import type { Session } from './postgres-session.ts'

/**
 * The prefix in the names of the parties' lines. Jobs that need the same lock wait in one line, which has the name of
 * the lock, and run in sequence. Row locks are used, because not every PostgreSQL-compatible database has advisory
 * locks. To lock a party, its row in `parties` is locked. To lock any other name, a row with this name is inserted into
 * `locks`.
 */
const partyPrefix = 'party '

/** Returns the name of a party's line. */
export function lineOf(partyId: string): string {
  return partyPrefix + partyId
}

/**
 * Sends the statements that take the locks of the given lines, always in the same order to prevent deadlocks. The
 * database waits for each lock, so it runs the session's next statement only after all locks are taken.
 */
export function lockLines(session: Session, lines: Iterable<string>, by: object): void {
  const { parties, names } = sorted(lines)
  const sql = 'select id from parties where id = any($1) order by id for update'
  if (parties.length > 0) session.send({ sql, parameters: [parties], name: 'lock' }, by)
  for (const name of names) {
    for (const statement of lockStatements(name)) session.send(statement, by)
  }
}

/**
 * Locks the parties of the given lines. Parties that another transaction has locked are skipped; if `mustWait` is true,
 * the database waits for them instead. Returns the lines of the parties that this call locks.
 */
export async function lockTogether(
  session: Session,
  lines: readonly string[],
  mustWait: boolean,
  by: object,
): Promise<ReadonlySet<string>> {
  if (mustWait) lockLines(session, lines, by)
  if (mustWait || lines.length === 0) return new Set(lines)
  const sql = 'select id from parties where id = any($1) order by id for update skip locked'
  const { parties } = sorted(lines)
  const { rows } = await session.run<{ id: string }>({ sql, parameters: [parties], name: 'lock_free' }, by)
  return new Set(rows.map(({ id }) => lineOf(id)))
}

/** Locks a name, waiting until it is free. */
export async function lockName(session: Session, name: string, by: object): Promise<void> {
  const [insert, remove] = lockStatements(name)
  session.send(insert, by)
  await session.run(remove, by)
}

/**
 * Returns the statements that lock a name. If a second transaction inserts the same name, it waits until the first
 * transaction ends. Each transaction deletes the row that it inserted, so no rows accumulate.
 */
function lockStatements(name: string) {
  return [
    { sql: 'insert into locks (name) values ($1)', parameters: [name], name: 'claim' },
    { sql: 'delete from locks where name = $1', parameters: [name], name: 'unclaim' },
  ] as const
}

function sorted(lines: Iterable<string>) {
  const all = [...lines].sort()
  const isParty = (line: string) => line.startsWith(partyPrefix)
  return {
    parties: all.filter(isParty).map((line) => line.slice(partyPrefix.length)),
    names: all.filter((line) => !isParty(line)),
  }
}
