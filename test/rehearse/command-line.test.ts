import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Results } from '../../src/rehearse/results.ts'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')

/** The working directory of the command. Each test gets a new one. */
let here: string
beforeEach(() => {
  here = mkdtempSync(join(tmpdir(), 'payments-rehearse-'))
})
afterEach(() => rmSync(here, { recursive: true }))

function start(args: readonly string[], env: Record<string, string> = {}): ChildProcessWithoutNullStreams {
  const commandEnv = { PATH: process.env.PATH, HOME: here, ...env }
  return spawn(process.execPath, [cli, 'rehearse', ...args], { cwd: here, env: commandEnv })
}

async function finish(child: ChildProcessWithoutNullStreams) {
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { stdout, stderr, exitCode }
}

/** A shell command that calls the trial's API once. */
const oneCall = `"$NODE" -e 'await fetch(process.env.API_URL + "/wallets", { headers: { Authorization: "Bearer " + process.env.MCP_KEY, "X-Instance-ID": "a-run" } })'`

const results = (): Results => JSON.parse(readFileSync(join(here, 'rehearsal/results.json'), 'utf8'))

test('an agent command runs in the current directory, and its environment lacks this package’s settings', async () => {
  writeFileSync(join(here, 'agent.sh'), `env > seen; ${oneCall}; echo "Done."`)
  const env = {
    NODE: process.execPath,
    MODEL_KEY: 'of the host',
    PAYMENTS_KEY: 'ak_ntl_sandbox_of-somebody-else-0000',
    PAYMENTS_TOOLSETS: 'all',
  }
  const { exitCode, stderr } = await finish(start(['--agent', 'sh agent.sh', '--scenarios', 'amount-in-dollars'], env))
  expect([exitCode, stderr]).toEqual([0, ''])
  const seen = readFileSync(join(here, 'seen'), 'utf8')
  expect(seen).toMatch(/^TASK=Please pay .* dollars/m)
  expect(seen).toMatch(/^MODEL_KEY=of the host$/m)
  expect(seen).not.toMatch(/^PAYMENTS_/m)
  // The environment tells the agent nothing about scenarios.
  expect(seen).not.toMatch(/amount-in|scenario/)
  expect(results().scenarios[0]?.trials[0]).toMatchObject({ ended: 'answered', answer: 'Done.', passed: false })
})

test('the report marks each trial without tool calls; if no trial has tool calls, the exit code is 2', async () => {
  const [agent, env] = [join(here, 'agent.sh'), { NODE: process.execPath }]
  writeFileSync(agent, `case "$TASK" in *dollars*) ${oneCall};; esac; echo "I have no tools."`)
  const args = ['--agent', 'sh agent.sh', '--scenarios', 'amount-in-words', '--require', '0.5']
  const some = await finish(start(args, env))
  expect(some).toMatchObject({ exitCode: 1, stderr: '' })
  expect(some.stdout).toMatch(
    /amount-in-cents, trial 1\n {2}The agent never called a tool\. Check that its host was given/,
  )
  expect(some.stdout).not.toMatch(/amount-in-dollars, trial 1\n {2}The agent never/)
  for (const file of ['report.html', 'junit.xml']) {
    expect(readFileSync(join(here, 'rehearsal', file), 'utf8')).toContain('The agent never called a tool.')
  }

  writeFileSync(agent, 'echo "I have no tools."')
  const none = await finish(start(args, env))
  expect(none).toMatchObject({ exitCode: 2, stdout: '' })
  expect(none.stderr).toMatch(
    /^payments-mcp: --agent got "sh agent\.sh", which did nothing in any trial\. The agent never called a tool\. .*rehearsal\/report\.html\.\n$/,
  )
  expect(results().scenarios).toHaveLength(2)
})

/**
 * Starts a rehearsal, and sends it a signal during the second trial. Returns the output and exit code of the rehearsal,
 * and the process id of the agent.
 */
async function signalInSecondTrial(signal: NodeJS.Signals) {
  writeFileSync(
    join(here, 'agent.sh'),
    'case "$TASK" in *dollars*) echo "Done.";; *) echo $$ > pid; exec sleep 300;; esac',
  )
  const child = start(['--agent', 'sh agent.sh', '--scenarios', 'amount-in-words', '--concurrency', '1'])
  const exit = finish(child)
  const pid = join(here, 'pid')
  await vi.waitUntil(() => existsSync(pid) && readFileSync(pid, 'utf8').endsWith('\n'), { timeout: 30_000 })
  child.kill(signal)
  return { ...(await exit), agentPid: Number(readFileSync(pid, 'utf8')) }
}

test('Ctrl+C ends running agents, and reports the finished trials', async () => {
  const { agentPid, ...child } = await signalInSecondTrial('SIGINT')
  expect(child).toMatchObject({ exitCode: 130, stdout: expect.stringContaining('amount-in-dollars') })
  expect(() => process.kill(agentPid, 0)).toThrow('ESRCH')
  expect(results().scenarios.map(({ scenario }) => scenario.id)).toEqual(['amount-in-dollars'])
})

test('--regrade reports the finished trials of a rehearsal that was killed', async () => {
  const { agentPid } = await signalInSecondTrial('SIGKILL')
  // Ends the agent's process, because the killed rehearsal could not do so.
  process.kill(agentPid, 'SIGKILL')
  expect(readdirSync(join(here, 'rehearsal'))).toEqual(['trials.jsonl'])
  const regraded = await finish(start(['--regrade', 'rehearsal']))
  expect(regraded).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('amount-in-dollars'), stderr: '' })
  expect(results().scenarios.map(({ scenario }) => scenario.id)).toEqual(['amount-in-dollars'])
  expect(readdirSync(join(here, 'rehearsal'))).not.toContain('trials.jsonl')
})

test('with --agent wait, the answers to the trials are read from stdin, one after another', async () => {
  const child = start(['--agent', 'wait', '--scenarios', 'amount-in-words', '--require', '0.5'])
  child.stdin.end('I paid him.\n\nI did not.\n\n')
  const { stdout, exitCode } = await finish(child)
  expect(stdout).toMatch(/Please pay .* dollars.*Please pay .* cents/s)
  expect(results().scenarios.flatMap(({ trials }) => trials.map(({ answer }) => answer))).toEqual([
    'I paid him.',
    'I did not.',
  ])
  expect(exitCode).toBe(1)
})

test('results are compared with earlier ones, and a summary is appended to the file GITHUB_STEP_SUMMARY', async () => {
  const steps = join(here, 'steps.md')
  writeFileSync(steps, '# Before\n')
  const env = { GITHUB_STEP_SUMMARY: steps }
  const args = ['--scenarios', 'amount-in-words,answer-lost']
  const first = await finish(start(['--agent', 'refuses-everything', ...args], env))
  expect(first).toMatchObject({ exitCode: 0, stderr: '' })
  // The new results are compared with `results.json`, and then overwrite this file.
  const compared = await finish(start(['--agent', 'careful', ...args, '--compare', 'rehearsal/results.json'], env))
  expect(compared).toMatchObject({ exitCode: 0, stderr: '' })
  expect(compared.stdout).toMatch(/^Compared with refuses-everything, 1 trial of each scenario, seed "1"$/m)
  expect(compared.stdout).toMatch(/^passed +0 % → 100 %, \+100\.0 points, within chance \(p 0\.25\)$/m)
  expect(compared.stdout).toMatch(/^better {2}amount-in-dollars +0 of 1 → 1 of 1 {2}within chance/m)
  expect(compared.stdout).toMatch(/^does nothing +0 of 3 +0 of 3 +0 of 3$/m)
  expect(results().comparison).toMatchObject({ before: { agent: 'refuses-everything' }, otherTask: [], lacks: false })
  const summary = readFileSync(join(here, 'rehearsal/summary.md'), 'utf8')
  expect(summary).toContain('### Compared with refuses-everything')
  expect(readFileSync(join(here, 'rehearsal/report.html'), 'utf8')).toContain('Compared with earlier results')
  const stepSummary = readFileSync(steps, 'utf8')
  expect(stepSummary).toMatch(/^# Before\n## Rehearsal of refuses-everything: 0 of 3 trials passed/)
  expect(stepSummary.endsWith(`${summary}\n`)).toBe(true)

  // With --regrade, stored results are compared without new trials. --compare also accepts a folder with results.
  const regraded = ['--regrade', 'rehearsal', '--compare', 'rehearsal', '--report', 'again']
  const again = await finish(start(regraded, { GITHUB_STEP_SUMMARY: join(here, 'no-folder/steps.md') }))
  expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('3 of 3 scenarios unchanged.') })
  expect(again.stderr).toMatch(/^The summary could not be added to GITHUB_STEP_SUMMARY .* \(ENOENT\)\.\n$/)
})
