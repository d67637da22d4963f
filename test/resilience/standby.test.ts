import { describe, expect, inject, test } from 'vitest'
import { agentSecret } from '../ledger/journal.ts'
import { serveOn } from './processes.ts'
import { binaries, PostgresServer } from './server.ts'

const headers = { Authorization: `Bearer ak_ntl_sandbox_${agentSecret}`, 'X-Instance-ID': 'standby' }

describe.skipIf(binaries === undefined)('a standby for lists', () => {
  test('lists come from the standby while it runs; everything else always comes from the primary', async () => {
    const primary = await PostgresServer.create(inject('fastDirectory'))
    const standby = await primary.addStandby(inject('fastDirectory'))
    const served = await serveOn(primary.url, { PAYMENTS_DATABASE_READ_URL: standby.url })
    const get = async (path: string) => {
      const response = await fetch(`${served.url}${path}`, { headers })
      return { status: response.status, json: (await response.json()) as { data: { id: string }[] } }
    }
    const listed = async () => (await get('/agent-cards')).json.data.map(({ id }) => id)
    const issue = async (key: string) => {
      const attributes = { merchant: { name: 'Books' }, maximumAmount: 900, currency: 'USD' }
      const response = await fetch(`${served.url}/agent-cards`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json', 'Idempotency-Key': key },
        body: JSON.stringify({ data: { attributes } }),
      })
      return ((await response.json()) as { data: { id: string } }).data.id
    }
    try {
      const first = await issue('first')
      await expect.poll(listed).toEqual([first])
      await standby.query('select pg_wal_replay_pause()')
      const second = await issue('second')
      expect(await listed()).toEqual([first])
      expect((await get(`/agent-cards/${second}`)).status).toBe(200)
      await standby.query('select pg_wal_replay_resume()')
      await expect.poll(listed).toEqual([second, first])
      await primary.query("alter system set synchronous_standby_names = ''")
      await primary.query('select pg_reload_conf()')
      await standby.stop()
      const third = await issue('third')
      expect(await listed()).toEqual([third, second, first])
    } finally {
      await served.stop()
      await standby.drop()
      await primary.drop()
    }
  })
})
