import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { setAside } from '../../src/service/store/engine/sqlite-file.ts'
import { sqlite } from '../support/databases.ts'

let path: string
let drop: () => Promise<void>
beforeEach(async () => {
  const empty = await sqlite.createEmpty()
  path = empty.url.slice('sqlite:'.length)
  drop = empty.drop
})
afterEach(() => drop())

async function createOtherDatabase(): Promise<void> {
  const store = await openStore({ url: `sqlite:${path}`, system: realSystem })
  await store.transaction(({ db }) => db.updateTable('schemas').set({ digest: 'another' }).execute())
  await store.close()
}

const rows = (file: string) => new DatabaseSync(file, { readOnly: true }).prepare('select digest from schemas').all()

test('a database of another pre-release is renamed to the first free name, and keeps its rows', async () => {
  for (const name of [`${path}-old`, `${path}-old-2`, `${path}-old-3`]) {
    await createOtherDatabase()
    expect(await setAside(path)).toBe(name)
    expect(existsSync(path)).toBe(false)
    expect(rows(name)).toEqual([{ digest: 'another' }])
  }
})

test('two simultaneous calls rename an old database only once, and never rename the new database', async () => {
  await createOtherDatabase()
  const done = await Promise.all([setAside(path), setAside(path).catch(() => undefined)])
  expect(done.filter((name) => name !== undefined)).toEqual([`${path}-old`])
  await (await openStore({ url: `sqlite:${path}`, system: realSystem })).close()
  expect(await setAside(path)).toBeUndefined()
  expect(existsSync(path)).toBe(true)
})
