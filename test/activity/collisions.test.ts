import { afterEach, beforeEach, expect, test } from 'vitest'
import { sha256 } from '../../src/core/system.ts'
import { actsAbout } from '../../src/service/store/activity.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'

/** Returns the 20-bit hash by which earlier versions found a party's activity about a resource. */
const oldHash = (partyId: string, resourceId: string) =>
  Number.parseInt(sha256(JSON.stringify(['activity', partyId, null, null, resourceId])).slice(0, 13), 16) % 2 ** 20

onEachDatabase('activity about resources with colliding hashes', (database) => {
  let world: World
  let [one, other]: OtherParty[] = []
  let cards: readonly [string, string]

  beforeEach(async () => {
    world = await createWorld(database)
    one = await addParty(world)
    other = await addParty(world)
    cards = findCollision()
  })
  afterEach(() => world.drop())

  /**
   * Returns two card ids with equal timestamps. The hash of the first party and the first id equals the hash of the
   * second party and the second id.
   */
  const findCollision = (): readonly [string, string] => {
    const cardIdOf = (number: number) => `pcd_${'0'.repeat(12)}${number.toString(16).padStart(20, '0')}`
    const cardIdByHash = new Map<number, string>()
    for (let number = 0; ; number++) {
      cardIdByHash.set(oldHash(String(one?.partyId), cardIdOf(number)), cardIdOf(number))
      const first = cardIdByHash.get(oldHash(String(other?.partyId), cardIdOf(number)))
      if (first !== undefined) return [first, cardIdOf(number)]
    }
  }
  const authorize = (party: OtherParty | undefined, cardId: string) =>
    world.authorize(cardId, 100, { key: String(party?.apiKey) })
  const about = async (party: OtherParty | undefined, resourceId: string) =>
    (await world.get(`/activity?resourceId=${resourceId}`, { key: String(party?.apiKey) })).json.data

  test("each party's entry about its own card has sequence number 1", async () => {
    for (const [at, party] of [one, other].entries()) {
      expect((await authorize(party, String(cards[at]))).status).toBe(404)
      const rows = await about(party, String(cards[at]))
      expect(rows.map((row: (typeof rows)[number]) => row.attributes.sequence)).toEqual([1])
    }
  })

  test("a party's activity about a resource contains only the entry about that resource", async () => {
    const another = `pcd_${'f'.repeat(32)}`
    const acted = [await authorize(one, cards[0]), await authorize(one, another)]
    acted.push(await authorize(other, another), await authorize(other, cards[1]))
    expect(acted.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    const acts = await world.store.read((tx) => actsAbout(tx, String(one?.partyId), cards[0], 50))
    expect(acts.map(({ sequence, resourceIds }) => [sequence, resourceIds])).toEqual([[1, JSON.stringify([cards[0]])]])
  })
})
