/** The maximum number of ids in one query. */
const maxIds = 200

/** Calls `read` with at most `maxIds` ids at a time. Returns the rows of all calls. */
export async function inBatches<Row>(
  ids: readonly string[],
  read: (batch: readonly string[]) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (let from = 0; from < ids.length; from += maxIds) rows.push(...(await read(ids.slice(from, from + maxIds))))
  return rows
}
