import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** The package name of each release of the MCP conformance tool. */
const releases = {
  '0.1.16': 'conformance-latest',
  '0.2.0-alpha.12': '@modelcontextprotocol/conformance',
} as const

/** The options that make a release wait longer for answers. Release 0.1.16 has no such option. */
const timeoutOptions = { '0.1.16': [], '0.2.0-alpha.12': ['--timeout', '120000'] } as const
/**
 * A script that lengthens the fixed timeouts, for which the tool has no options. In the scenario `server-stateless`,
 * for example, the tool closes a stream after half a second. On a busy machine, a correct answer may take longer.
 */
const patienceScript = new URL('./patience.js', import.meta.url).href

export interface Run {
  release: keyof typeof releases
  options: string
  /** A file in this folder that lists the expected failures and their reasons. */
  expected: string
}

export interface Outcome {
  /** The tool's exit code. It is 0 if exactly the expected scenarios failed; optional scenarios do not count. */
  code: number | null
  printed: string
  /** The number of scenarios that the tool ran. */
  count: number
  /** The scenarios with failures or warnings. */
  failed: string[]
  /** The scenarios that verified nothing: none of their checks failed, gave a warning or succeeded. */
  inconclusive: string[]
}

interface Check {
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
}

/** Runs the conformance tool against an MCP endpoint. */
export async function runConformance(url: string, { release, options, expected }: Run): Promise<Outcome> {
  const output = await mkdtemp(join(tmpdir(), 'conformance-'))
  const tool = fileURLToPath(new URL(`../../node_modules/${releases[release]}/dist/index.js`, import.meta.url))
  const baseline = fileURLToPath(new URL(expected, import.meta.url))
  const args = ['--url', url, ...options.split(' '), ...timeoutOptions[release], '--expected-failures', baseline]
  const command = ['--import', patienceScript, tool, 'server', ...args, '-o', output]
  const child = spawn(process.execPath, command, { timeout: 240_000 })
  try {
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
    const [code, ...printed] = await Promise.all([closed, text(child.stdout), text(child.stderr)])
    return { code, printed: printed.join('\n'), ...(await readOutcome(output)) }
  } finally {
    await rm(output, { recursive: true, force: true })
  }
}

async function readOutcome(output: string): Promise<Omit<Outcome, 'code' | 'printed'>> {
  const folders = await readdir(output)
  const failed: string[] = []
  const inconclusive: string[] = []
  for (const folder of folders.sort()) {
    const checks: Check[] = JSON.parse(await readFile(join(output, folder, 'checks.json'), 'utf8'))
    const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, '')
    if (checks.some(({ status }) => status === 'FAILURE' || status === 'WARNING')) failed.push(scenario)
    else if (!checks.some(({ status }) => status === 'SUCCESS')) inconclusive.push(scenario)
  }
  return { count: folders.length, failed, inconclusive }
}

/**
 * Returns the scenarios that a file in this folder lists as expected failures. Throws an error if one of the scenarios
 * is listed without a reason.
 */
export async function expectedFailures(file: string): Promise<Set<string>> {
  const lines = (await readFile(new URL(file, import.meta.url), 'utf8')).split('\n').filter((line) => /^ /.test(line))
  return new Set(
    lines.map((line) => {
      const [, scenario] = /^ {2}- ([\w-]+)(?::[\w-]+)? # \w.{10,}$/.exec(line) ?? []
      if (scenario === undefined) throw new Error(`${file} gives no reason for a failure: ${line}`)
      return scenario
    }),
  )
}
