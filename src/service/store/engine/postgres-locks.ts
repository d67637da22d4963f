import type { Session } from './postgres-session.ts'

/**
 * Locks are rows, since not every PostgreSQL-compatible database has advisory locks. A party's lock is its own row; any
 * other name is locked by inserting it. A line is the key that serializes jobs: a party or a name.
 */
const ofParty = 'party '

/** Returns the line of a party. */
export function lineOf(partyId: string): string {
  return ofParty + partyId
}

/**
 * Locks all lines in one global order. The database waits for each lock, so the next statement runs only after all
 * lines are locked.
 */
export function lockLines(session: Session, lines: Iterable<string>, by: object): void {
  const { parties, names } = sorted(lines)
  const sql = 'select id from parties where id = any($1) order by id for update'
  if (parties.length > 0) session.send({ sql, parameters: [parties], name: 'lock' }, by)
  for (const name of names) {
    for (const statement of claiming(name)) session.send(statement, by)
  }
}

/** Locks the parties that are free, or waits for all of them if `mustWait` is true. Returns the lines that it locked. */
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
  const [insert, remove] = claiming(name)
  session.send(insert, by)
  await session.run(remove, by)
}

/**
 * Makes the statements that claim a name. A second insert of the name waits for this transaction to end. The
 * transaction leaves no row behind, so nothing needs cleaning up.
 */
function claiming(name: string) {
  return [
    { sql: 'insert into locks (name) values ($1)', parameters: [name], name: 'claim' },
    { sql: 'delete from locks where name = $1', parameters: [name], name: 'unclaim' },
  ] as const
}

function sorted(lines: Iterable<string>) {
  const all = [...lines].sort()
  const isParty = (line: string) => line.startsWith(ofParty)
  return {
    parties: all.filter(isParty).map((line) => line.slice(ofParty.length)),
    names: all.filter((line) => !isParty(line)),
  }
}
