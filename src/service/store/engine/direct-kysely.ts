import {
  type CompiledQuery,
  DefaultQueryExecutor,
  type Dialect,
  type DialectAdapter,
  DummyDriver,
  type Kysely,
  Transaction as KyselyTransaction,
  type QueryCompiler,
  type QueryResult,
} from 'kysely'
import type { Tables } from '../schema/tables.ts'

/** The parts of a Kysely dialect that do not run queries. */
export interface DirectDialect extends Pick<Dialect, 'createIntrospector'> {
  adapter: DialectAdapter
  compiler: QueryCompiler
}

type Run = <Row>(query: CompiledQuery) => Promise<QueryResult<Row>>

/** Returns a Kysely instance that runs every query with `run`. Kysely only builds and compiles the queries. */
export function directKysely({ adapter, compiler, createIntrospector }: DirectDialect, run: Run): Kysely<Tables> {
  const dialect: Dialect = {
    createAdapter: () => adapter,
    createDriver: () => new DummyDriver(),
    createIntrospector,
    createQueryCompiler: () => compiler,
  }
  const connection = {
    executeQuery: run,
    streamQuery(): never {
      throw new Error('Bug: queries cannot be streamed.')
    },
  }
  const provider = { provideConnection: <T>(use: (to: typeof connection) => Promise<T>) => use(connection) }
  const executor = new DirectExecutor(run, compiler, adapter, provider)
  return new KyselyTransaction<Tables>({ config: { dialect }, dialect, driver: new DummyDriver(), executor })
}

class DirectExecutor extends DefaultQueryExecutor {
  readonly #run: Run

  constructor(run: Run, ...rest: ConstructorParameters<typeof DefaultQueryExecutor>) {
    super(...rest)
    this.#run = run
  }

  override async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return this.#run<Row>(query)
  }
}
