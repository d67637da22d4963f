import { test } from 'vitest'
import { writeFileSync } from 'node:fs'
import { createHosting } from '../mcp-http/hosting.ts'
import { serveWorld } from '../oauth/served.ts'
import { startBearerProxy } from './bearer-proxy.ts'
import { everythingServer } from './everything-server.ts'
import { conformance } from './run.ts'
const runs = [
  { release: '0.1.16', options: ['--suite', 'all'], expected: 'expected-none.yml' },
  { release: '0.2.0-alpha.12', options: ['--requirements', '2025-11-25'], expected: 'expected-none.yml' },
  { release: '0.2.0-alpha.12', options: ['--requirements', '2026-07-28'], expected: 'expected-none.yml' },
] as const
const out: string[] = []
test.each(['everything'])('%s', async (kind) => {
  let url = ''
  let proxy
  if (kind === 'everything') {
    const hosting = await createHosting({ createServer: (c) => everythingServer((e) => hosting.endpoint.notify(e), c) })
    proxy = await startBearerProxy(hosting.url, 'token-of-alice')
  } else {
    const served = await serveWorld()
    proxy = await startBearerProxy(served.url, served.world.agentKey)
  }
  url = `${proxy.url}/mcp`
  const t = Date.now()
  const results = await Promise.all(runs.map(async (r) => { const o = await conformance(url, r as never); return { ...o, ms: Date.now() - t } }))
  results.forEach((r, i) => {
    out.push(`#### ${kind} ${runs[i]?.release} ${runs[i]?.options} code ${r.code} in ${r.ms} ms; passed ${r.passed.length}`, ...r.failed, `PASSED ${r.passed.join(' ')}`)
    writeFileSync(`/tmp/conf-${kind}-${i}.txt`, r.printed)
  })
  writeFileSync('/tmp/conf-out.txt', out.join('\n'))
}, 120_000)
