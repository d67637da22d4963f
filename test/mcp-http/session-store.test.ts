import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SessionStore } from '../../src/core/session-store.ts'
import { createMcpSessions } from '../../src/service/store/mcp-sessions.ts'
import { databases } from '../support/databases.ts'

const inDatabases = databases.map(({ name, create }) => ({
  name,
  open: async () => {
    const { store, drop } = await create()
    const sessions: SessionStore = createMcpSessions(store)
    return { sessions, drop }
  },
}))
describe.each(inDatabases)('stored sessions in $name', ({ open }) => {
  let sessions: SessionStore
  let drop: () => Promise<void>
  beforeEach(async () => {
    ;({ sessions, drop } = await open())
  })
  afterEach(() => drop())

  const bounds = (perStream: number) => ({ perStream, perSession: 1_000, characters: 10_000 })
  const many = { sessions: 100, sessionsPerPrincipal: 100, usedSinceMs: 0 }
  const session = (idHash: string, usedAtMs = 1_000, principalId = 'alice') => ({
    idHash,
    principalId,
    partyId: `party of ${principalId}`,
    state: '{}',
    createdAtMs: 1_000,
    usedAtMs,
  })
  const findExisting = async (...idHashes: string[]) => {
    const found = await Promise.all(idHashes.map((idHash) => sessions.find(idHash)))
    return found.map((record) => record?.idHash).filter((idHash) => idHash !== undefined)
  }
  const event = (sequence: number, streamId = 's', sentAtMs = 1_000) => {
    return { idHash: 'a', streamId, sequence, message: `${sequence}`, sentAtMs }
  }
  const mail = (id: string, addressee: string, sentAtMs = 1_000) => ({
    id,
    idHash: 'a',
    addressee,
    message: id,
    sentAtMs,
  })

  test('a session can be found, marked as used, and removed with all its data', async () => {
    await sessions.create(session('a'), many)
    expect(await sessions.find('a')).toEqual(session('a'))
    expect(await sessions.find('b')).toBeUndefined()
    await sessions.touch('a', 2_000)
    expect((await sessions.find('a'))?.usedAtMs).toBe(2_000)
    await sessions.appendEvent(event(1), bounds(9))
    await sessions.deliver(mail('m', 'x'), 100)
    await sessions.remove('a')
    expect(await sessions.find('a')).toBeUndefined()
    await sessions.create(session('a'), many)
    expect(await sessions.readEvents('a', 's', 0)).toEqual([])
    expect(await sessions.takeMail('a', 'x')).toEqual([])
  })

  test('a new session removes expired sessions and, above a limit, the least recently used ones', async () => {
    await sessions.create(session('a', 1_000), many)
    await sessions.create(session('b', 2_000, 'bob'), many)
    await sessions.create(session('c', 3_000), many)
    await sessions.touch('a', 4_000)
    expect(await sessions.create(session('d', 5_000), { ...many, sessionsPerPrincipal: 2 })).toEqual(['c'])
    expect(await findExisting('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'd'])
    await sessions.create(session('e', 5_000, 'bob'), { ...many, sessionsPerPrincipal: 1 })
    expect(await findExisting('a', 'b', 'd', 'e')).toEqual(['a', 'd', 'e'])
    await sessions.create(session('g', 9_000), { ...many, usedSinceMs: 5_000 })
    expect(await findExisting('a', 'd', 'e', 'g')).toEqual(['d', 'e', 'g'])
  })

  test('above the total limit, the party with the most sessions loses one, even if it uses many keys', async () => {
    await sessions.create(session('victim', 1_000, 'bob'), many)
    const full = { ...many, sessions: 4 }
    for (const [number, key] of ['k1', 'k2', 'k3', 'k4', 'k5'].entries()) {
      await sessions.create({ ...session(key, 2_000 + number, key), partyId: 'attacker' }, full)
    }
    expect(await findExisting('victim', 'k1', 'k2', 'k3', 'k4', 'k5')).toEqual(['victim', 'k3', 'k4', 'k5'])
    // A new session of a different party also replaces a session of the party with the most sessions.
    await sessions.create(session('another', 9_000, 'carol'), full)
    expect(await findExisting('victim', 'k3', 'k4', 'k5', 'another')).toEqual(['victim', 'k4', 'k5', 'another'])
  })

  test('only the latest events of each stream are stored', async () => {
    await sessions.create(session('a'), many)
    for (let sequence = 1; sequence <= 5; sequence++) await sessions.appendEvent(event(sequence), bounds(3))
    await sessions.appendEvent(event(1, 'other'), bounds(3))
    const sequences = async (after: number) =>
      (await sessions.readEvents('a', 's', after)).map(({ sequence }) => sequence)
    expect(await sequences(0)).toEqual([3, 4, 5])
    expect(await sequences(4)).toEqual([5])
    expect(await sessions.readEvents('a', 'other', 0)).toEqual([event(1, 'other')])
  })

  const eventCount = async (streamId: string) => (await sessions.readEvents('a', streamId, 0)).length

  test('the events of all streams of a session are limited in number and in total length', async () => {
    await sessions.create(session('a'), many)
    for (let number = 0; number < 12; number++) {
      await sessions.appendEvent(event(1, `s${number}`, number), { perStream: 9, perSession: 10, characters: 10_000 })
    }
    expect([await eventCount('s1'), await eventCount('s2'), await eventCount('s11')]).toEqual([0, 1, 1])
    const large = { ...event(2, 's11', 20), message: 'x'.repeat(9_999) }
    await sessions.appendEvent(large, { perStream: 9, perSession: 10, characters: 10_000 })
    expect([await eventCount('s2'), await eventCount('s11')]).toEqual([0, 2])
  })

  test('delivered events can be deleted, and a sweep deletes expired events, mail and sessions', async () => {
    await sessions.create(session('a'), many)
    await sessions.create(session('b', 9_000), many)
    for (let sequence = 1; sequence <= 3; sequence++) await sessions.appendEvent(event(sequence), bounds(9))
    await sessions.forgetEvents('a', 's', 2)
    expect((await sessions.readEvents('a', 's', 0)).map(({ sequence }) => sequence)).toEqual([3])
    for (let number = 0; number < 20; number++) await sessions.appendEvent(event(1, `old${number}`, 500), bounds(99))
    await sessions.deliver(mail('old', 'x', 500), 100)
    await sessions.deliver(mail('new', 'x', 2_000), 100)
    await sessions.sweep({ usedSinceMs: 0, eventsSinceMs: 1_000, mailSinceMs: 1_000 })
    expect([await eventCount('old0'), await eventCount('old19'), await eventCount('s')]).toEqual([0, 0, 1])
    expect((await sessions.takeMail('a', 'x')).map(({ id }) => id)).toEqual(['new'])
    await sessions.sweep({ usedSinceMs: 5_000, eventsSinceMs: 0, mailSinceMs: 0 })
    expect(await findExisting('a', 'b')).toEqual(['b'])
    expect(await eventCount('s')).toBe(0)
  })

  test('events and mail for a session that does not exist are not stored', async () => {
    await sessions.appendEvent(event(1), bounds(3))
    await sessions.deliver(mail('m', 'x'), 100)
    expect(await sessions.readEvents('a', 's', 0)).toEqual([])
    expect(await sessions.takeMail('a', 'x')).toEqual([])
  })

  test('mail is delivered to its addressee once, and broadcasts are delivered until they expire', async () => {
    await sessions.create(session('a'), many)
    await sessions.deliver(mail('m1', 'x'), 100)
    await sessions.deliver(mail('m2', ''), 100)
    await sessions.deliver(mail('m3', 'y'), 100)
    const takeMailIds = async (addressee: string) => (await sessions.takeMail('a', addressee)).map(({ id }) => id)
    expect(await takeMailIds('x')).toEqual(['m1', 'm2'])
    expect(await takeMailIds('x')).toEqual(['m2'])
    await sessions.deliver(mail('m4', 'y', 61_000), 100)
    await sessions.sweep({ usedSinceMs: 0, eventsSinceMs: 0, mailSinceMs: 61_000 })
    expect(await takeMailIds('y')).toEqual(['m4'])
  })

  test('a session stores a limited number of unread messages, and no message twice', async () => {
    await sessions.create(session('a'), many)
    for (let count = 0; count < 3; count++) await sessions.deliver(mail('again', 'z'), 100)
    expect(await sessions.takeMail('a', 'z')).toHaveLength(1)
    for (let count = 0; count < 105; count++) await sessions.deliver(mail(`m${count}`, 'x'), 100)
    expect(await sessions.takeMail('a', 'x')).toHaveLength(100)
  })
})
