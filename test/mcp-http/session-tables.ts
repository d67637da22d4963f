import type { Store } from '../../src/service/store/engine/store.ts'
import { boundMcpSessions, createMcpSessionsSchema } from '../../src/service/store/schema/mcp-sessions-schema.ts'

/** Makes the tables of MCP sessions, unless the migrations made them. */
export async function withSessionTables(store: Store): Promise<void> {
  await store.transaction(async (tx) => {
    const names = (await tx.db.introspection.getTables()).map(({ name }) => name)
    if (names.includes('mcpSessions')) return
    await createMcpSessionsSchema(tx.db as never)
    await boundMcpSessions(tx.db as never)
  })
}
