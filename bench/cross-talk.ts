import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { crossTalk } from '../test/mcp-http/cross-talk.ts'
import { createHosting } from '../test/mcp-http/hosting.ts'
import { judged, type Row } from './table.ts'

const hosts = 64
const calls = 100_000
const roundCalls = 10_000

/** 100,000 calls of hosts that all use the same ids: whether one got another's answer, and what memory it left. */
export async function measureCrossTalk(): Promise<Row[]> {
  const hosting = await createHosting()
  try {
    const heapMegabytes: number[] = []
    let answered = 0
    let wrong = 0
    const startedAt = performance.now()
    for (let round = 0; round < calls / roundCalls; round++) {
      // Through the endpoint without sockets: what could mix answers up is behind them.
      const seen = await crossTalk(hosting.endpoint.fetch, hosting.url, hosts, Math.ceil(roundCalls / hosts))
      answered += seen.answered + seen.cancelled
      wrong += seen.wrong.length
      heapMegabytes.push(heapAfterCollection())
    }
    const seconds = (performance.now() - startedAt) / 1000
    // The first round leaves what is made once.
    const [first = 0] = heapMegabytes
    const growth = (heapMegabytes.at(-1) ?? 0) - first
    return [
      {
        measurement: `${answered} MCP calls of ${hosts} hosts with the same ids: foreign answers`,
        ours: String(wrong),
        other: '',
        ratio: `${(answered / seconds).toFixed(0)} /s`,
        ...judged(wrong, { atMost: 0 }),
      },
      {
        measurement: 'heap that they leave behind',
        ours: `${growth.toFixed(1)} MB`,
        other: '',
        ratio: '',
        ...judged(growth, { atMost: 8 }, ' MB'),
      },
    ]
  } finally {
    await hosting.close()
  }
}

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed / 1024 / 1024
}
