import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createMemorySessions } from '../../src/mcp/http/memory-sessions.ts'
import type { SessionStore } from '../../src/mcp/http/session-store.ts'
import { createMcpSessions } from '../../src/service/store/mcp-sessions.ts'
import { databases } from '../support/databases.ts'
import { withSessionTables } from './session-tables.ts'

const inDatabases = databases.map(({ name, create }) => ({
  name,
  open: async () => {
    const { store, drop } = await create()
    await withSessionTables(store)
    const sessions: SessionStore = createMcpSessions(store)
    return { sessions, drop }
  },
}))
const inMemory = { name: 'memory', open: async () => ({ sessions: createMemorySessions(), drop: async () => {} }) }

describe.each([inMemory, ...inDatabases])('sessions in $name', ({ open }) => {
  let sessions: SessionStore
  let drop: () => Promise<void>
  beforeEach(async () => {
    ;({ sessions, drop } = await open())
  })
  afterEach(() => drop())

  const many = { sessions: 100, sessionsPerPrincipal: 100, usedSinceMs: 0 }
  const session = (idHash: string, usedAtMs = 1_000, principalId = 'alice') => ({
    idHash,
    principalId,
    state: '{}',
    createdAtMs: 1_000,
    usedAtMs,
  })
  const there = async (...idHashes: string[]) => {
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

  test('are found, touched and removed with all that is theirs', async () => {
    await sessions.create(session('a'), many)
    expect(await sessions.find('a')).toEqual(session('a'))
    expect(await sessions.find('b')).toBeUndefined()
    await sessions.touch('a', 2_000)
    expect((await sessions.find('a'))?.usedAtMs).toBe(2_000)
    await sessions.appendEvent(event(1), 9)
    await sessions.deliver(mail('m', 'x'))
    await sessions.remove('a')
    expect(await sessions.find('a')).toBeUndefined()
    await sessions.create(session('a'), many)
    expect(await sessions.readEvents('a', 's', 0)).toEqual([])
    expect(await sessions.takeMail('a', 'x')).toEqual([])
  })

  test('that were not used for too long, and the oldest beyond the bounds, give way', async () => {
    await sessions.create(session('a', 1_000), many)
    await sessions.create(session('b', 2_000, 'bob'), many)
    await sessions.create(session('c', 3_000), many)
    await sessions.touch('a', 4_000)
    expect(await sessions.create(session('d', 5_000), { ...many, sessions: 3 })).toEqual(['b'])
    expect(await there('a', 'b', 'c', 'd')).toEqual(['a', 'c', 'd'])
    await sessions.create(session('e', 5_000, 'bob'), { ...many, sessionsPerPrincipal: 1 })
    expect(await there('a', 'c', 'd', 'e')).toEqual(['a', 'c', 'd', 'e'])
    expect(await sessions.create(session('f', 6_000), { ...many, sessionsPerPrincipal: 3 })).toEqual(['c'])
    expect(await there('a', 'c', 'd', 'e', 'f')).toEqual(['a', 'd', 'e', 'f'])
    await sessions.create(session('g', 9_000), { ...many, usedSinceMs: 5_000 })
    expect(await there('a', 'd', 'e', 'f', 'g')).toEqual(['d', 'e', 'f', 'g'])
  })

  test('keep the latest events of each stream', async () => {
    await sessions.create(session('a'), many)
    for (let sequence = 1; sequence <= 5; sequence++) await sessions.appendEvent(event(sequence), 3)
    await sessions.appendEvent(event(1, 'other'), 3)
    const sequences = async (after: number) => (await sessions.readEvents('a', 's', after)).map((kept) => kept.sequence)
    expect(await sequences(0)).toEqual([3, 4, 5])
    expect(await sequences(4)).toEqual([5])
    expect(await sessions.readEvents('a', 'other', 0)).toEqual([event(1, 'other')])
  })

  test('forget the streams of long ago, and the oldest of too many', async () => {
    await sessions.create(session('a'), many)
    const minute = 60_000
    await sessions.appendEvent(event(1, 'old', 0), 9)
    // Not the first of their streams, which is when old ones are forgotten: this only fills the table.
    const fill = Array.from({ length: 1_050 }, (_, number) => event(2, `s${number}`, minute + number))
    await Promise.all(fill.map((one) => sessions.appendEvent(one, 9)))
    await sessions.appendEvent(event(1, 'now', 11 * minute), 9)
    const kept = async (streamId: string) => (await sessions.readEvents('a', streamId, 0)).length
    expect([await kept('old'), await kept('s0'), await kept('s1049'), await kept('now')]).toEqual([0, 0, 1, 1])
  })

  test('of which there is none, keep nothing', async () => {
    await sessions.appendEvent(event(1), 3)
    await sessions.deliver(mail('m', 'x'))
    expect(await sessions.readEvents('a', 's', 0)).toEqual([])
    expect(await sessions.takeMail('a', 'x')).toEqual([])
  })

  test('hand mail to whom it is for, once, and to everybody for a minute', async () => {
    await sessions.create(session('a'), many)
    await sessions.deliver(mail('m1', 'x'))
    await sessions.deliver(mail('m2', ''))
    await sessions.deliver(mail('m3', 'y'))
    const taken = async (addressee: string) => (await sessions.takeMail('a', addressee)).map(({ id }) => id)
    expect(await taken('x')).toEqual(['m1', 'm2'])
    expect(await taken('x')).toEqual(['m2'])
    await sessions.deliver(mail('m4', 'y', 61_000))
    expect(await taken('y')).toEqual(['m4'])
  })

  test('take only so much mail', async () => {
    await sessions.create(session('a'), many)
    for (let count = 0; count < 105; count++) await sessions.deliver(mail(`m${count}`, 'x'))
    expect(await sessions.takeMail('a', 'x')).toHaveLength(100)
  })
})
