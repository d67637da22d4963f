import { setTimeout as sleep } from 'node:timers/promises'
import { residentMegabytes } from './process-figures.ts'
import type { Programs } from './programs.ts'
import { judged, type Row, summary } from './table.ts'
import { greet } from './tool-calls.ts'

const rounds = 3
const idleMs = 3_000

/** What a server that a host keeps open and does not use takes of the memory. */
export async function measureMemory(programs: Programs): Promise<Row[]> {
  const samples = { ours: [] as number[], oneTool: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    const [ours, oneTool] = [programs.startOurs(), programs.startOneTool()]
    try {
      await greet(ours)
      await ours.request('tools/call', { name: 'whoami', arguments: {} })
      await greet(oneTool)
      await oneTool.request('tools/call', { name: 'echo', arguments: { text: 'hello' } })
      await sleep(idleMs)
      samples.ours.push(residentMegabytes(ours.pid))
      samples.oneTool.push(residentMegabytes(oneTool.pid))
    } finally {
      await Promise.all([ours.end(), oneTool.end()])
    }
  }
  const most = Math.max(...samples.ours)
  return [
    {
      measurement: 'resident memory when idle, one-tool server beside it',
      ours: summary(samples.ours, 'MB'),
      other: summary(samples.oneTool, 'MB'),
      ratio: '',
      ...judged(most, { atMost: 90 }, ' MB'),
    },
  ]
}
