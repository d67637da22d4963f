import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { isDeep, sampleOf } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { smallWorld } from './trials.ts'

const cli = await runResource('cli')

const folder = mkdtempSync(join(tmpdir(), 'payments-rehearse-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const expectMention = [{ what: 'mentioned', text: 'Nothing was done', exactly: 1 }]
const scenario = { title: 'Nothing to do', task: 'Do nothing.', world: smallWorld, expect: expectMention }
const file = join(folder, 'scenarios.yaml')
writeFileSync(file, stringify({ one: scenario, two: { ...scenario, expect: [{ what: 'payments', exactly: 1 }] } }))

interface ProcessResult {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs `payments-mcp rehearse` in a child process. `onStarted` gets a function that sends a signal to that process. */
function rehearse(
  args: readonly string[],
  onStarted?: (kill: (signal: NodeJS.Signals) => void) => void,
): Promise<ProcessResult> {
  const child = spawn(process.execPath, [cli, 'rehearse', ...args], { cwd: folder })
  const ended = { stdout: '', stderr: '' }
  child.stdout.on('data', (text) => (ended.stdout += text))
  child.stderr.on('data', (text) => (ended.stderr += text))
  onStarted?.((signal) => child.kill(signal))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...ended })))
}

/** Lists of arguments that the command refuses, each with a pattern that the error line must match. */
const refused: [args: string[], line: RegExp][] = [
  [['--agent', ''], /^payments-mcp: --agent got ""; it accepts a command, wait, careful, /],
  [
    ['--agent', 'carefull'],
    /--agent got "carefull"; did you mean careful\? To run a command of that name, give its path\.\n$/,
  ],
  [[], /^payments-mcp: --agent is missing; it accepts /],
  [['--agent', 'careful', '--trials', '0'], /--trials got "0"; it accepts an integer from 1 to 1000\.\n$/],
  [
    ['--agent', 'careful', '--concurrency', 'many'],
    /--concurrency got "many"; it accepts an integer from 1 to 64\.\n$/,
  ],
  [['--agent', 'careful', '--require', '95'], /--require got "95"; it accepts a share from 0 to 1, such as 0\.95\.\n$/],
  [['--agent', 'careful', '--scenarios', 'nothing-such'], /--scenarios got "nothing-such"/],
  [
    ['--agent', 'careful', '--report', 'scenarios.yaml/x'],
    /--report got "scenarios\.yaml\/x" \(ENOTDIR\); it accepts /,
  ],
  [['--agent', 'careful', '--report', '/proc/x'], /--report got "\/proc\/x" \(ENOENT\); it accepts /],
  [['--regrade', 'nowhere'], /--regrade got "nowhere" \(ENOENT\); it accepts a folder with a results\.json/],
  [['--regrade', 'out', '--agent', 'careful'], /remove --agent/],
  [
    ['--agent', 'careful', '--compare', 'nowhere'],
    /--compare got "nowhere" \(ENOENT\); it accepts the path of a results\.json/,
  ],
  [['--agent', 'careful', '--compare', 'scenarios.yaml'], /scenarios\.yaml:1/],
  [
    ['--agent', './nothing-such.sh', '--scenarios', 'scenarios.yaml'],
    /--agent got "\.\/nothing-such\.sh", which did nothing in any trial\. The command was not found\. Put it in PATH /,
  ],
]

describe('payments-mcp rehearse', () => {
  it('a rehearsal prints a table, writes a report, and exits with 1 if the pass rate is below --require', async () => {
    const args = ['--agent', 'refuses-everything', '--scenarios', 'scenarios.yaml', '--report', 'out']
    const { code, stdout, stderr } = await rehearse(args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/refuses-everything: 2 scenarios x 1 trial/)
    expect(stdout).toMatch(/number of payments must be exactly 1; it is 0/)
    expect(stdout).toMatch(
      /Report: out\/report\.html\nFailed trials do not change the exit code, unless --require SHARE is given\.\n$/,
    )
    expect(readdirSync(join(folder, 'out')).toSorted()).toEqual([
      'junit.xml',
      'report.html',
      'results.json',
      'summary.md',
      'traces.json',
    ])
    if (isDeep) expect((await rehearse([...args, '--require', '0.5'])).code).toBe(0)
    const refused = await rehearse([...args, '--require', '0.51'])
    expect([refused.code, refused.stdout.endsWith('report.html\n')]).toEqual([1, true])

    writeFileSync(file, stringify({ one: scenario, two: scenario }))
    const regraded = await rehearse(['--regrade', 'out', '--scenarios', 'scenarios.yaml', '--require', '1'])
    expect(regraded).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(readFileSync(join(folder, 'out/results.json'), 'utf8')).summary.passed.passed).toBe(2)
    expect(readFileSync(join(folder, 'out/junit.xml'), 'utf8')).not.toContain('<failure')
  })

  it.runIf(isDeep)('--list prints the scenarios', async () => {
    const { code, stdout } = await rehearse(['--list'])
    expect(code).toBe(0)
    expect(stdout.trim().split('\n').length).toBeGreaterThanOrEqual(30)
  })

  it.each(sampleOf(refused, 14))('the arguments %j are refused with a one-line message', async (args, line) => {
    const { code, stderr, stdout } = await rehearse(args)
    expect(stderr).toMatch(line)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })

  it.runIf(isDeep)('an interrupted rehearsal exits with 130 and writes a report of the finished trials', async () => {
    const agent = 'node -e "console.error(\'up\'); setTimeout(() => {}, 60000)"'
    const args = ['--agent', agent, '--scenarios', 'scenarios.yaml', '--report', 'interrupted', '--concurrency', '1']
    const child = await rehearse(args, (kill) => {
      const polling = setInterval(() => {
        if (!readdirSync(folder).includes('interrupted')) return
        clearInterval(polling)
        kill('SIGINT')
      }, 50)
    })
    expect(child.code).toBe(130)
    expect(readdirSync(join(folder, 'interrupted'))).toContain('results.json')
  })
})
