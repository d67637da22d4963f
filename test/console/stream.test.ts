import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { type Draw, maxQueuedBytes, Streams } from '../../src/service/pages/console/live/streams.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { ok, payer } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type ConsoleSite, createConsoleSite } from './console-site.ts'

/** Reads a stream until an event of the given kind arrives, and returns the chunk of text that contains the event. */
async function nextEvent(reader: ReadableStreamDefaultReader<Uint8Array>, kind: string): Promise<string> {
  for (;;) {
    const { value, done } = await reader.read()
    if (done) throw new Error('The stream ended.')
    const text = new TextDecoder().decode(value)
    if (text.includes(`event: ${kind}\n`)) return text
  }
}

const dataOf = (text: string) => JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '')

onEachDatabase('the stream of changes to the console', (database) => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await createConsoleSite(database)
  })
  afterAll(() => site.world.drop())

  async function watch(topic: string) {
    const headers = { Cookie: `payments_session=${await site.sessionOf(site.owner)}` }
    const address = `http://localhost:4242/console/stream?${new URLSearchParams({ topic })}`
    const { status, body } = await site.world.service.fetch(new Request(address, { headers }))
    if (status !== 200 || body === null) throw new Error(`The request for the stream got the status ${status}.`)
    const reader = body.getReader()
    await nextEvent(reader, 'open')
    return reader
  }

  test('two viewers of a run get identical updates, and none from another run', async () => {
    const instanceId = '<img src=x>'
    await site.world.get('/wallets', { instanceId })
    await site.entries(instanceId)
    const path = site.runPath(instanceId)
    const readers = await Promise.all([1, 2].map(() => watch(`run:${path.split('/').at(-1)}`)))
    await site.world.get('/wallets', { instanceId: 'another' })
    expect((await site.world.post('/agent-cards', { maximumAmount: -1 }, { instanceId })).status).toBe(422)
    const entries = await site.entries(instanceId)
    const [first = '', second] = await Promise.all(readers.map((reader) => nextEvent(reader, 'changed')))
    expect(second).toBe(first)
    const [{ source, html }, figures] = dataOf(first).drawn
    expect(source).toBe(`${path}?fragment=1`)
    expect(figures).toMatchObject({ source: `${path}?part=facts`, html: expect.stringContaining('1 failed') })
    expect(figures.html).toBe((await (await site.visitor(site.owner)).open(`${path}?part=facts`)).text)
    const shown = [...html.matchAll(/id="(ent_[0-9a-f]{32})" data-entry/g)].map(([, id]) => id)
    expect(shown).toEqual(entries.map(({ id }) => id).reverse())
    expect(html).not.toMatch(/formToken|<img|\b[0-9a-f]{64}\b/)
    await Promise.all(readers.map((reader) => reader.cancel()))
  })

  test('the list of runs is streamed as escaped HTML without form tokens', async () => {
    const reader = await watch('runs')
    await site.world.get('/wallets', { instanceId: '<i>listed' })
    await site.world.service.runLog.flush()
    const [{ source, html }] = dataOf(await nextEvent(reader, 'changed')).drawn
    expect(source).toBe('/console?fragment=1')
    expect(html).toContain('&lt;i&gt;listed')
    expect(html).not.toMatch(/<i>|formToken/)
    await reader.cancel()
  })

  test('the stream of the money page sends its wallets and lists as HTML, but only a version hash of its pending decisions', async () => {
    const { world, owner } = site
    const visitor = await site.visitor(owner)
    const reader = await watch('money')
    const waiting = '/console/money?part=waiting'
    /**
     * Reads updates until `fits` accepts one, and returns the accepted update. Updates before it may lack the latest
     * change.
     */
    const readUntil = async (fits: (shown: Record<string, string>) => boolean) => {
      for (;;) {
        const { drawn } = dataOf(await nextEvent(reader, 'changed')) as { drawn: Record<string, string>[] }
        const shown = Object.fromEntries(drawn.map(({ source = '', html, version = '' }) => [source, html ?? version]))
        if (fits(shown)) return shown
      }
    }
    const buy = async () => world.authorize(await world.issueCard({ maximumAmount: 500 }), 400)
    await buy()
    const [wallets, lists] = await Promise.all(
      ['wallets', 'lists'].map(async (part) => (await visitor.open(`/console/money?part=${part}`)).text),
    )
    const before = await readUntil((shown) => shown['/console/money?part=lists'] === lists)
    expect(before['/console/money?part=wallets']).toBe(wallets)
    expect(JSON.stringify(before)).not.toMatch(/formToken|<form/)
    expect(before[waiting]).toMatch(/^[0-9a-f]{64}$/)
    await buy()
    const later = await readUntil((shown) => shown['/console/money?part=lists'] !== lists)
    expect(later[waiting]).toBe(before[waiting])
    const { setLimits } = payer(world)
    await setLimits('agents', String((await world.whoami()).agentId), { perTransaction: 100 })
    await world.post('/payments', { amount: 5000, counterparty: { type: 'email', value: 'payee@example.com' } })
    await readUntil((shown) => shown[waiting] !== before[waiting])
    await reader.cancel()
  })

  test('a change that is undone at once is still reported, because a page may have been rendered in between', async () => {
    const { world } = site
    const rule = { id: 'brief', operation: 'get_wallet', fault: 'slow' }
    const reader = await watch('sandbox')
    expect((await world.post('/simulations/faults', rule)).status).toBe(200)
    expect((await world.send('DELETE', '/simulations/faults')).status).toBe(200)
    expect(dataOf(await nextEvent(reader, 'changed')).topics).toEqual(['sandbox'])
    await reader.cancel()
    const another = await watch('sandbox')
    expect((await world.post('/simulations/snapshots', { name: 'brief' })).status).toBe(200)
    expect((await world.send('DELETE', '/simulations/snapshots/brief')).status).toBe(200)
    expect(dataOf(await nextEvent(another, 'changed')).topics).toEqual(['sandbox'])
    await another.cancel()
  })

  test('a page, the responses for its parts and the stream give the same version of each part', async () => {
    const { world, owner } = site
    const visitor = await site.visitor(owner)
    const page = async () => {
      const { text } = await visitor.open('/console/sandbox')
      const marks = [...text.matchAll(/data-source="([^"]*)" data-version="([0-9a-f]{64})"/g)]
      return Object.fromEntries(marks.map(([, source = '', version = '']) => [source, version]))
    }
    /**
     * Returns the versions of the faults and the snapshots. Omits the clock, because its version changes every minute.
     */
    const versionsFrom = async (read: (source: string) => Promise<string | null | undefined> | string | undefined) =>
      Promise.all(['faults', 'snapshots'].map((part) => read(`/console/sandbox?part=${part}`)))
    const fromResponse = (source: string) => visitor.open(source).then(({ headers }) => headers.get('part-version'))
    const fromStream = async () => {
      const reader = await watch('sandbox')
      await world.authorize(await world.issueCard({ maximumAmount: 80 }), 50)
      const { drawn } = dataOf(await nextEvent(reader, 'changed')) as { drawn: Record<string, string>[] }
      await reader.cancel()
      return (part: string) => drawn.find(({ source }) => source === part)?.version
    }
    const before = await page()
    expect(Object.keys(before)).toEqual(['clock', 'faults', 'snapshots'].map((part) => `/console/sandbox?part=${part}`))
    const [faults, snapshots] = await versionsFrom((source) => before[source])
    expect(await versionsFrom(fromResponse)).toEqual([faults, snapshots])
    expect(await versionsFrom(await fromStream())).toEqual([faults, snapshots])
    ok(await world.post('/simulations/faults', { id: 'brief', operation: 'get_wallet', fault: 'slow' }))
    const after = await page()
    const [otherFaults, sameSnapshots] = await versionsFrom((source) => after[source])
    expect(otherFaults).not.toBe(faults)
    expect(sameSnapshots).toBe(snapshots)
    expect(await versionsFrom(fromResponse)).toEqual([otherFaults, snapshots])
    expect(await versionsFrom(await fromStream())).toEqual([otherFaults, snapshots])
    ok(await world.send('DELETE', '/simulations/faults'))
    expect((await page())['/console/sandbox?part=faults']).toBe(faults)
  })
})

/** Creates streams without a service. Returns a function that opens a stream, and a function that reports a change. */
function createStreams(draw: Draw) {
  let notify: (entries: readonly object[]) => void = () => {}
  const follow = (notifyAll: typeof notify) => {
    notify = notifyAll
    return () => {}
  }
  const dependencies = {
    ...{ ending: new AbortController().signal, system: { elapsed: () => 0, now: () => 0 }, log: { warn() {} } },
    ...{ runLog: { follow }, waits: { follow: () => ({ begin: async () => {}, end() {} }) } },
    store: { read: () => Promise.resolve({ runs: new Map(), offsetMs: 0, settings: '' }) },
  }
  const viewer = { user: { id: 'usr_1', partyId: 'p' } as UserRow, isProven: true }
  const streams = new Streams(dependencies as unknown as ConstructorParameters<typeof Streams>[0], draw)
  const open = async ({ isActive = true, gone = new AbortController().signal } = {}) => {
    const body = await streams.open({ viewer, topics: ['run:r'], isActive: async () => isActive, gone })
    if (body === undefined) throw new Error('The stream was not opened.')
    return body.getReader()
  }
  return { open, change: () => notify([{ row: { partyId: 'p', runId: 'r' } }]) }
}

afterEach(() => {
  vi.useRealTimers()
})

test('a client that stops reading gets a limited amount of content, then only notifications', async () => {
  vi.useFakeTimers()
  const { open, change } = createStreams(async () => [{ source: '/', html: 'x'.repeat(maxQueuedBytes * 0.7) }])
  const slow = await open()
  for (let count = 0; count < 5; count++) {
    change()
    await vi.advanceTimersByTimeAsync(1000)
  }
  await nextEvent(slow, 'open')
  expect(dataOf(await nextEvent(slow, 'changed')).drawn).toHaveLength(1)
  for (let count = 1; count < 5; count++) expect(dataOf(await nextEvent(slow, 'changed')).drawn).toEqual([])
  // The client has now read everything, so it gets content again.
  change()
  await vi.advanceTimersByTimeAsync(1000)
  expect(dataOf(await nextEvent(slow, 'changed')).drawn).toHaveLength(1)
  await slow.cancel()
})

test('the stream of a user who signed out ends at the next heartbeat', async () => {
  vi.useFakeTimers()
  const { open } = createStreams(async () => [])
  const [signedIn, signedOut] = [await open(), await open({ isActive: false })]
  await vi.advanceTimersByTimeAsync(15_000)
  await nextEvent(signedOut, 'open')
  expect((await signedOut.read()).done).toBe(true)
  await nextEvent(signedIn, 'open')
  expect(new TextDecoder().decode((await signedIn.read()).value)).toContain('still here')
  await signedIn.cancel()
})

test('a stream is closed if its client disconnects while the stream is being opened', async () => {
  const { open } = createStreams(async () => [])
  const leaving = new AbortController()
  const reader = open({ gone: leaving.signal })
  leaving.abort()
  const left = await reader
  await nextEvent(left, 'open')
  expect((await left.read()).done).toBe(true)
})
