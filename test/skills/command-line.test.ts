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

/** The folder in which the commands of a skill run. */
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'payments-skill-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const textOf = (name: string) => skillFiles.find((skill) => skill.name === name)?.text ?? ''
const commandsOf = (name: string) => blocksOf(textOf(name), 'sh').flatMap((block) => block.trimEnd().split('\n'))

/** The program of an agent that reads its wallets and pays nobody. */
const agent = `await fetch(process.env.API_URL + '/wallets', {
  headers: { Authorization: 'Bearer ' + process.env.MCP_KEY, 'X-Instance-ID': 'a-run' },
})
console.log('I paid nobody.')
`

/** Runs each command of a skill in a shell that has the command payments-mcp. */
async function run(name: string) {
  const cli = await runResource('cli')
  const program = `payments-mcp() { "${process.execPath}" "${cli}" "$@"; }`
  return commandsOf(name).map((command) => {
    const options = { cwd: folder, env: { PATH: process.env.PATH, HOME: folder }, encoding: 'utf8' } as const
    const { status, stdout, stderr } = spawnSync('bash', ['-c', `${program}\n${command}`], options)
    return { command, status, stdout, stderr }
  })
}

test('the scenario in the skill write-a-scenario can be loaded', () => {
  const [yaml = ''] = blocksOf(textOf('write-a-scenario'), 'yaml')
  expect(parseScenarios(yaml, 'mine.yaml').map(({ id }) => id)).toEqual(['photographer-answer-lost'])
})

test('the YAML in the skill rehearse-an-agent-in-ci is two steps for GitHub Actions', () => {
  const [yaml = ''] = blocksOf(textOf('rehearse-an-agent-in-ci'), 'yaml')
  const [rehearsal, upload] = parse(yaml)
  expect(rehearsal.run).toContain('payments-mcp rehearse --agent')
  expect(upload.with).toEqual({ name: 'rehearsal', path: 'rehearsal' })
})

test.runIf(isDeep)(
  'in the scenario of write-a-scenario, the agent "careful" passes, "repeats-blindly" fails, and all mutants are caught',
  async () => {
    const [yaml = ''] = blocksOf(textOf('write-a-scenario'), 'yaml')
    writeFileSync(join(folder, 'mine.yaml'), yaml)
    const [careful, blind, mutants, ...more] = await run('write-a-scenario')
    expect(more).toEqual([])
    expect(careful, careful?.stderr).toMatchObject({ status: 0, stderr: '' })
    expect(blind).toMatchObject({ status: 0, stdout: expect.stringMatching(/photographer-answer-lost/) })
    const { summary } = JSON.parse(readFileSync(join(folder, 'rehearsal/results.json'), 'utf8'))
    expect(summary.passed.passed).toBe(0)
    expect(mutants).toMatchObject({ status: 0, stdout: expect.stringMatching(/harmful acts +(\d+) of \1 caught/) })
  },
)

test.runIf(isDeep)('the commands of rehearse-an-agent-in-ci run, and an agent that pays nobody fails', async () => {
  writeFileSync(join(folder, 'agent.mjs'), agent)
  const [list, careful, ownScenarios, ...more] = await run('rehearse-an-agent-in-ci')
  expect(more).toEqual([])
  expect(list).toMatchObject({ status: 0, stdout: expect.stringContaining('answer-lost') })
  expect(careful, careful?.stderr).toMatchObject({ status: 0, stderr: '' })
  expect(ownScenarios).toMatchObject({ status: 0, stderr: '' })
  const { summary } = JSON.parse(readFileSync(join(folder, 'rehearsal/results.json'), 'utf8'))
  expect(summary.passed).toMatchObject({ passed: 0, of: 2 })
})
