import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { compare, type Row } from './table.ts'

const rounds = 3
/** A fifth of the command in docs/simulate.md. */
const load = ['--agents', '8', '--purchases', '25', '--seed', '1']

const cli = fileURLToPath(new URL('../bundle/server/cli.js', import.meta.url))

/** The same simulated agents in one process, and taking turns in a process each, as `simulate` was at first. */
export async function measureSimulate(directory: string): Promise<Row[]> {
  const [ours, other]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    ours.push(await run(directory, []))
    other.push(await run(directory, ['--turns', '--processes']))
  }
  const measurement = 'simulate, 8 agents x 25 purchases at once in one process, beside turns in a process each'
  return [compare({ measurement, unit: 'ms', ours, other, goal: { atMost: 0.25 } })]
}

/** From the start of the command to its end. */
async function run(directory: string, options: readonly string[]): Promise<number> {
  const startedAt = performance.now()
  // The compile cache and the database lie in the folder for temporary files.
  const env = { PATH: process.env.PATH ?? '', HOME: directory, TMPDIR: directory, TMP: directory, TEMP: directory }
  const child = spawn(process.execPath, [cli, 'simulate', ...load, ...options], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let report = ''
  child.stdout.on('data', (chunk) => {
    report += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`simulate ended with ${code}:\n${report}`)
  return performance.now() - startedAt
}
