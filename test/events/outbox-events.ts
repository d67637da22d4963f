import type { EventRow } from '../../src/service/store/schema/events.ts'
import type { World } from '../support/world.ts'

/**
 * Returns functions that read events of the outbox, by party and in order. `rows` returns all of them. `fresh` returns
 * those added since its last call, and `since` returns each of these as `party type prefix-of-the-resource-id`.
 */
export function outboxEvents(world: Pick<World, 'store'>, names: () => Readonly<Record<string, string>>) {
  let seen = new Set<string>()
  const rows = () =>
    world.store.read(({ db }) => db.selectFrom('events').selectAll().orderBy('partyId').orderBy('sequence').execute())
  const key = ({ partyId, sequence }: EventRow) => `${partyId} ${sequence}`
  const fresh = async () => {
    const all = await rows()
    const found = all.filter((row) => !seen.has(key(row)))
    seen = new Set(all.map(key))
    return found
  }
  return {
    rows,
    fresh,
    since: async () => {
      const called = names()
      return (await fresh()).map(({ partyId, type, resourceId }) => {
        return `${called[partyId] ?? partyId} ${type} ${resourceId.slice(0, 3)}`
      })
    },
  }
}
