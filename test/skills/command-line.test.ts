import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseScenarios } from '../../src/rehearse/load-scenarios.ts'
import { isDeep } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { blocksOf, skillFiles } from './reader.ts'

/** The directory in which the code blocks of a skill for the command line run. */
let here: string
beforeEach(() => {
  here = mkdtempSync(join(tmpdir(), 'payments-skill-'))
})
afterEach(() => rmSync(here, { recursive: true }))

const textOf = (name: string) => skillFiles.find((skill) => skill.name === name)?.text ?? ''
const commandsOf = (name: string) => blocksOf(textOf(name), 'sh').flatMap((block) => block.trimEnd().split('\n'))

/** An agent that makes one call, and does nothing else. */
const agent = `await fetch(process.env.API_URL + '/wallets', {
  headers: { Authorization: 'Bearer ' + process.env.MCP_KEY, 'X-Instance-ID': 'a-run' },
})
console.log('I paid nobody.')
`

/** Runs the commands of a skill in one directory, like a shell that has the command payments-mcp. */
async function run(name: string) {
  const cli = await runResource('cli')
  const program = `payments-mcp() { "${process.execPath}" "${cli}" "$@"; }`
  return commandsOf(name).map((command) => {
    const options = { cwd: here, env: { PATH: process.env.PATH, HOME: here }, encoding: 'utf8' } as const
    const { status, stdout, stderr } = spawnSync('bash', ['-c', `${program}\n${command}`], options)
    return { command, status, stdout, stderr }
  })
}

test('the scenario in write-a-scenario can be loaded', () => {
  const [yaml = ''] = blocksOf(textOf('write-a-scenario'), 'yaml')
  expect(parseScenarios(yaml, 'mine.yaml').map(({ id }) => id)).toEqual(['photographer-answer-lost'])
})

test('the step in rehearse-an-agent-in-ci is a step for GitHub Actions', () => {
  const [yaml = ''] = blocksOf(textOf('rehearse-an-agent-in-ci'), 'yaml')
  const [rehearsal, upload] = parse(yaml)
  expect(rehearsal.run).toContain('payments-mcp rehearse --agent')
  expect(upload.with).toEqual({ name: 'rehearsal', path: 'rehearsal' })
})

test.runIf(isDeep)('write-a-scenario: careful passes, repeats-blindly fails, and the mutants are shown', async () => {
  const [yaml = ''] = blocksOf(textOf('write-a-scenario'), 'yaml')
  writeFileSync(join(here, 'mine.yaml'), yaml)
  const [careful, blind, mutants, ...more] = await run('write-a-scenario')
  expect(more).toEqual([])
  expect(careful, careful?.stderr).toMatchObject({ status: 0, stderr: '' })
  expect(blind).toMatchObject({ status: 0, stdout: expect.stringMatching(/photographer-answer-lost/) })
  const { summary } = JSON.parse(readFileSync(join(here, 'rehearsal/results.json'), 'utf8'))
  expect(summary.passed.passed).toBe(0)
  expect(mutants).toMatchObject({ status: 0, stdout: expect.stringMatching(/harmful acts +(\d+) of \1 caught/) })
})

test.runIf(isDeep)('rehearse-an-agent-in-ci: its commands run, and an agent that does nothing fails', async () => {
  writeFileSync(join(here, 'agent.mjs'), agent)
  const [list, careful, ownScenarios, ...more] = await run('rehearse-an-agent-in-ci')
  expect(more).toEqual([])
  expect(list).toMatchObject({ status: 0, stdout: expect.stringContaining('answer-lost') })
  expect(careful, careful?.stderr).toMatchObject({ status: 0, stderr: '' })
  expect(ownScenarios).toMatchObject({ status: 0, stderr: '' })
  const { summary } = JSON.parse(readFileSync(join(here, 'rehearsal/results.json'), 'utf8'))
  expect(summary.passed).toMatchObject({ passed: 0, of: 2 })
})
