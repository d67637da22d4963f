import { StatementSync } from 'node:sqlite'
import pg from 'pg'

/** Statements that control a transaction. They are not recorded. */
const transactionControl = /^(begin|commit|rollback|savepoint|release|set )/i

type Call = (this: unknown, ...args: never[]) => unknown

/** Records the SQL of the statements that this process runs on SQLite or PostgreSQL, until `stop` is called. */
export function recordStatements(): { texts: string[]; stop(): void } {
  const texts: string[] = []
  const { all, run, get } = StatementSync.prototype
  const { query } = pg.Client.prototype
  const recording = (call: Call, textOf: (by: unknown, first: unknown) => string) =>
    function (this: unknown, ...args: never[]) {
      const text = textOf(this, args[0])
      if (!transactionControl.test(text)) texts.push(text)
      return Reflect.apply(call, this, args)
    }
  const onSqlite = (call: Call) => recording(call, (by) => (by as StatementSync).sourceSQL)
  Object.assign(StatementSync.prototype, { all: onSqlite(all), run: onSqlite(run), get: onSqlite(get) })
  const textOf = (_client: unknown, first: unknown) =>
    typeof first === 'string' ? first : (first as { text: string }).text
  Object.assign(pg.Client.prototype, { query: recording(query as Call, textOf) })
  return {
    texts,
    stop: () => {
      Object.assign(StatementSync.prototype, { all, run, get })
      Object.assign(pg.Client.prototype, { query })
    },
  }
}
