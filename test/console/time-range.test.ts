import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertRunEntries, maxScanned } from '../../src/service/store/runs.ts'
import { decoded } from '../pages/decoded.ts'
import type { Visitor } from '../pages/oauth-site.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type ConsoleSite, createConsoleSite } from './console-site.ts'

onEachDatabase('the time range of a timeline', (database) => {
  let site: ConsoleSite
  let owner: Visitor
  beforeAll(async () => {
    site = await createConsoleSite(database)
    owner = await site.visitor()
  })
  afterAll(() => site.world.drop())

  const textAt = async (path: string) => {
    const { status, text } = await owner.open(path)
    expect([path, status]).toEqual([path, 200])
    return text
  }
  const entriesIn = (text: string) => [...text.matchAll(/id="(ent_[0-9a-f]{32})" data-entry/g)].map(([, id]) => id)

  test('a time range limits the entries on every page of a timeline, and the entries that are added live', async () => {
    const { world } = site
    const instanceId = 'from and until'
    for (let count = 0; count < 3; count++) {
      for (let call = 0; call < 70; call++) await world.get('/wallets', { instanceId })
      world.system.pass(90_400)
    }
    const entries = await site.entries(instanceId)
    const path = site.runPath(instanceId)
    const [first, second] = [entries[70]?.atMs ?? 0, entries[139]?.atMs ?? 0]
    const at = (ms: number) => new Date(ms).toISOString().slice(0, 19)
    const ids = (from: number, to?: number) => entries.slice(from, to).map(({ id }) => id)
    const listedEntries = async (query: Record<string, string>) => {
      const found: (string | undefined)[] = []
      let pages = 0
      for (let next: string | undefined = `${path}?${new URLSearchParams(query)}`; next !== undefined; pages++) {
        const text: string = await textAt(next)
        found.push(...entriesIn(text))
        const [, more] = /<a href="([^"]*)" data-more/.exec(text) ?? []
        next = more === undefined ? undefined : decoded(more)
      }
      return { pages, found: query.order === 'oldest' ? found : found.reverse() }
    }
    const [from, until] = [at(first), at(second)]
    for (const order of ['', 'oldest']) {
      expect(await listedEntries({ from, until, order })).toEqual({ pages: 1, found: ids(70, 140) })
      expect(await listedEntries({ from, order })).toEqual({ pages: 2, found: ids(70) })
      expect(await listedEntries({ until, order })).toEqual({ pages: 2, found: ids(0, 140) })
      expect(await listedEntries({ from: at(first + 1000), until: at(second + 1000), order })).toEqual({
        ...{ pages: 1, found: [] },
      })
    }
    // The script of the page requests new entries with the time range of the page, and gets only entries within this
    // range.
    const newest = (query: string) => textAt(`${path}?newest=1&fragment=1${query}`)
    expect(entriesIn(await newest(''))[0]).toBe(entries.at(-1)?.id)
    expect(entriesIn(await newest(`&until=${until}`))[0]).toBe(entries[139]?.id)
    expect(entriesIn(await newest(`&from=${at(second + 60_000)}`))).toEqual(ids(180).reverse())
    expect(decoded((await textAt(`${path}?until=${until}`)).match(/data-newer="([^"]*)"/)?.[1] ?? '')).toContain(
      new URLSearchParams({ until }).toString(),
    )
  })

  test('a filter by time uses the time at which a due effect was applied, not the time at which it was recorded', async () => {
    const { world } = site
    const sent = { instanceId: 'lapsed in between' }
    await world.authorize(await world.issueCard({}, sent), 1200, sent)
    await world.post('/simulations/clock/advance', { seconds: 40 * 86_400 }, { key: world.apiKey, ...sent })
    await world.service.runLog.flush()
    await world.get('/wallets', sent)
    const entries = await site.entries(sent.instanceId)
    const lapsed = entries.find(({ kind }) => kind === 'happened')
    const last = entries.at(-1)
    if (lapsed === undefined || last === undefined) throw new Error('An entry is missing.')
    const dayLater = new Date(lapsed.atMs + 86_400_000).toISOString().slice(0, 19)
    const path = site.runPath(sent.instanceId)
    expect(entriesIn(await textAt(`${path}?from=${dayLater}`))).toEqual([last.id])
    expect(entriesIn(await textAt(`${path}?until=${dayLater}`))).toContain(lapsed.id)
  })

  test('entries from before the time range are neither scanned nor shown, even if they were recorded after those within it', async () => {
    const { world } = site
    const instanceId = 'a long time ago'
    await world.get('/wallets', { instanceId })
    const [entry] = await site.entries(instanceId)
    if (entry === undefined) throw new Error('There is no entry.')
    const { recordedAtMs: _, detail, ...row } = { ...entry, atMs: entry.atMs - 86_400_000, supportId: null }
    const before = Array.from({ length: maxScanned }, (_, count) => ({
      ...{ row: { ...row, detail: JSON.stringify(detail), id: `ent_${count.toString(16).padStart(32, '0')}` } },
      ...{ instanceId, host: null, spentCents: 0 },
    }))
    const [first] = before
    if (first === undefined) throw new Error('There is no earlier entry.')
    const recordedLater = { ...first, row: { ...first.row, id: `ent_${'f'.repeat(32)}` } }
    await world.store.transaction((tx) => insertRunEntries(tx, [...before, recordedLater]))
    const from = new Date(entry.atMs).toISOString().slice(0, 19)
    for (const order of ['', '&order=oldest']) {
      const text = await textAt(`${site.runPath(instanceId)}?from=${from}${order}`)
      expect([order, entriesIn(text), text.includes('data-more')]).toEqual([order, [entry.id], false])
    }
  })

  test('an invalid time is reported at its field, and does not filter the timeline', async () => {
    const path = site.runPath('from and until')
    const all = entriesIn(await textAt(path))
    for (const wrong of [
      'yesterday',
      '2026-11-23',
      '2026-02-30T10:00',
      '2026-13-01T10:00',
      '2026-11-23T25:00',
      '<b>\u202e',
    ]) {
      const { status, text } = await owner.open(`${path}?${new URLSearchParams({ from: wrong })}`)
      expect([wrong, status]).toEqual([wrong, 422])
      expect(text).toMatch(/name="from" value="" aria-invalid="true" aria-describedby="from-problem"/)
      expect(text).toMatch(/id="from-problem"><bdi>“[^<]*” is not a time/)
      expect(text).not.toContain('until-problem')
      expect(entriesIn(text)).toEqual(all)
    }
    const range = { from: '2026-11-23T10:00', until: '2026-11-23T09:59:59' }
    const reversed = await owner.open(`${path}?${new URLSearchParams(range)}`)
    expect(reversed.status).toBe(422)
    expect(reversed.text).toContain('id="until-problem"><bdi>Enter a time that is not before 2026-11-23 10:00:00.')
    expect(await textAt(`${path}?from=&until=`)).not.toContain('aria-invalid')
  })
})
