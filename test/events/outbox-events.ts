import type { EventRow } from '../../src/service/store/schema/events.ts'
import type { World } from '../support/world.ts'

/**
 * Returns functions that read the outbox, sorted by party and sequence. `rows` returns all events. `newRows` and
 * `newEvents` return only the events that were added since the last call of either function. `newEvents` returns each
 * event as a string: the name of the party, the event type and the prefix of the resource id.
 */
export function outboxEvents(world: Pick<World, 'store'>, partyNames: () => Readonly<Record<string, string>>) {
  let seen = new Set<string>()
  const rows = () =>
    world.store.read(({ db }) => db.selectFrom('events').selectAll().orderBy('partyId').orderBy('sequence').execute())
  const key = ({ partyId, sequence }: EventRow) => `${partyId} ${sequence}`
  const newRows = async () => {
    const all = await rows()
    const added = all.filter((row) => !seen.has(key(row)))
    seen = new Set(all.map(key))
    return added
  }
  return {
    rows,
    newRows,
    newEvents: async () => {
      const names = partyNames()
      return (await newRows()).map(({ partyId, type, resourceId }) => {
        return `${names[partyId] ?? partyId} ${type} ${resourceId.slice(0, 3)}`
      })
    },
  }
}
