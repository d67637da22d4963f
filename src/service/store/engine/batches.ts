/** The maximum number of ids in one query. */
const together = 200

/** Reads the rows with these ids. If there are many ids, uses several queries. */
export async function inBatches<Row>(
  ids: readonly string[],
  read: (batch: readonly string[]) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (let from = 0; from < ids.length; from += together) rows.push(...(await read(ids.slice(from, from + together))))
  return rows
}
