import { afterEach, beforeEach, expect, test } from 'vitest'
import { sha256 } from '../../src/core/system.ts'
import { actsAbout } from '../../src/service/store/activity.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'

/** Returns the hash that once ordered the rows of one second: 20 bits. */
const oldHash = (partyId: string, resourceId: string) =>
  Number.parseInt(sha256(JSON.stringify(['activity', partyId, null, null, resourceId])).slice(0, 13), 16) % 2 ** 20

onEachDatabase('resources of two parties that once had the same key', (database) => {
  let world: World
  let [one, other]: OtherParty[] = []
  let cards: readonly [string, string]

  beforeEach(async () => {
    world = await createWorld(database)
    one = await addParty(world)
    other = await addParty(world)
    cards = colliding()
  })
  afterEach(() => world.drop())

  /** Returns two card ids with the same time, whose old hashes collide for the two parties. */
  const colliding = (): readonly [string, string] => {
    const named = (number: number) => `pcd_${'0'.repeat(12)}${number.toString(16).padStart(20, '0')}`
    const cardIdByHash = new Map<number, string>()
    for (let number = 0; ; number++) {
      cardIdByHash.set(oldHash(String(one?.partyId), named(number)), named(number))
      const first = cardIdByHash.get(oldHash(String(other?.partyId), named(number)))
      if (first !== undefined) return [first, named(number)]
    }
  }
  const authorize = (party: OtherParty | undefined, cardId: string) =>
    world.authorize(cardId, 100, { key: String(party?.apiKey) })
  const about = async (party: OtherParty | undefined, resourceId: string) =>
    (await world.get(`/activity?resourceId=${resourceId}`, { key: String(party?.apiKey) })).json.data

  test('are recorded at the same number of both chains', async () => {
    for (const [at, party] of [one, other].entries()) {
      expect((await authorize(party, String(cards[at]))).status).toBe(404)
      const rows = await about(party, String(cards[at]))
      expect(rows.map((row: (typeof rows)[number]) => row.attributes.sequence)).toEqual([1])
    }
  })

  test('are distinguished in the activity of one of them', async () => {
    const another = `pcd_${'f'.repeat(32)}`
    const acted = [await authorize(one, cards[0]), await authorize(one, another)]
    acted.push(await authorize(other, another), await authorize(other, cards[1]))
    expect(acted.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    const acts = await world.store.read((tx) => actsAbout(tx, String(one?.partyId), cards[0], 50))
    expect(acts.map(({ sequence, resourceIds }) => [sequence, resourceIds])).toEqual([[1, JSON.stringify([cards[0]])]])
  })
})
