import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createSite } from '../src/commands/site.ts'
import { loadConfig } from '../src/config/load.ts'
import { realSystem } from '../src/core/system.ts'
import { openSandbox } from './sandbox.ts'
import { opening } from './stdio-server.ts'
import { judged, type Row } from './table.ts'

const sessions = 1_000

/** What an idle session of the 2025 era takes of the heap, once its tools were listed. */
export async function measureSessions(directory: string): Promise<Row[]> {
  const sandbox = await openSandbox(`sqlite:${directory}/sessions.sqlite`)
  const log = { debug() {}, info() {}, warn: console.warn, error: console.error }
  const config = loadConfig({ env: {}, flags: {} })
  const publicUrl = () => 'http://127.0.0.1:4010'
  const site = await createSite({ ...sandbox, config, publicUrl, system: realSystem, log })
  const post = async (message: object, session: Record<string, string> = {}) => {
    const headers = {
      authorization: `Bearer ${sandbox.key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...session,
    }
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    const response = await site.fetch(new Request(`${publicUrl()}/mcp`, { method: 'POST', headers, body }))
    await response.text()
    return { 'mcp-session-id': response.headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' }
  }
  const open = async () => {
    const session = await post({ id: 0, method: 'initialize', params: opening })
    await post({ method: 'notifications/initialized' }, session)
    await post({ id: 1, method: 'tools/list' }, session)
  }
  for (let index = 0; index < 50; index++) await open()
  const before = heapKilobytes()
  for (let index = 0; index < sessions; index++) await open()
  const each = (heapKilobytes() - before) / sessions
  await site.close()
  await sandbox.close()
  const measurement = `heap of an idle session (of ${sessions})`
  return [{ measurement, ours: `${each.toFixed(1)} kB`, other: '', ratio: '', ...judged(each, { atMost: 15 }, ' kB') }]
}

function heapKilobytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed / 1024
}
