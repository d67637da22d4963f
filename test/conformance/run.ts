import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** The releases of the protocol's conformance tests, by the name they are installed under. */
const releases = {
  '0.1.16': 'conformance-latest',
  '0.2.0-alpha.12': '@modelcontextprotocol/conformance',
} as const

export interface Run {
  release: keyof typeof releases
  options: string[]
  /** The file of this folder that lists what may fail, and why. */
  expected: string
}

export interface Outcome {
  /** 0 when exactly what is expected failed. */
  code: number | null
  printed: string
  /** `scenario: check: why` of everything that failed, or should be better. */
  failed: string[]
  /** The scenarios in which nothing did, and something was seen to work. */
  passed: string[]
}

interface Check {
  id: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  errorMessage?: string
}

/** Runs scenarios against the MCP endpoint at that address. */
export async function conformance(url: string, { release, options, expected }: Run): Promise<Outcome> {
  const output = await mkdtemp(join(tmpdir(), 'conformance-'))
  const tool = fileURLToPath(new URL(`../../node_modules/${releases[release]}/dist/index.js`, import.meta.url))
  const baseline = fileURLToPath(new URL(expected, import.meta.url))
  const given = ['server', '--url', url, ...options, '--expected-failures', baseline, '-o', output]
  const child = spawn(process.execPath, [tool, ...given], { timeout: 60_000 })
  try {
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
    const [code, ...printed] = await Promise.all([closed, text(child.stdout), text(child.stderr)])
    return { code, printed: printed.join('\n'), ...(await read(output)) }
  } finally {
    await rm(output, { recursive: true, force: true })
  }
}

async function read(output: string): Promise<Pick<Outcome, 'failed' | 'passed'>> {
  const [failed, passed]: string[][] = [[], []]
  for (const folder of await readdir(output)) {
    const checks: Check[] = JSON.parse(await readFile(join(output, folder, 'checks.json'), 'utf8'))
    const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, '')
    const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    failed.push(...bad.map(({ id, errorMessage }) => `${scenario}: ${id}: ${errorMessage}`))
    if (bad.length === 0 && checks.some(({ status }) => status === 'SUCCESS')) passed.push(scenario)
  }
  return { failed: failed.sort(), passed: passed.sort() }
}
