import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { examples } from '../../src/commands/help.ts'
import { everyCommand } from '../../src/config/setting.ts'
import { settings } from '../../src/config/settings.ts'
import { sampleOf } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test.each(sampleOf(everyCommand, 6))(
  'the help of the command %s lists the options of that command, then the settings that it reads, then examples',
  (name) => {
    const { status, stdout, stderr } = run(...(name === 'stdio' ? [] : [name]), '--help')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const [ownHelp = '', rest = ''] = stdout.split('Settings, as flags or environment variables')
    const [settingsHelp = '', examplesHelp = ''] = rest.split('Examples:')
    const flags = settings.filter(({ readBy }) => (readBy as readonly string[]).includes(name)).map(({ flag }) => flag)
    expect(settingsHelp.match(/--[\w-]+/g)).toEqual(flags)
    for (const { flag } of settings) expect(ownHelp).not.toMatch(new RegExp(`^  ${flag} `, 'm'))
    for (const line of examples[name]) {
      expect(examplesHelp).toContain(`  ${line}\n`)
      for (const flag of line.match(/--[\w-]+/g) ?? [])
        expect([...flags, ...(ownHelp.match(/--[\w-]+/g) ?? [])]).toContain(flag)
    }
  },
)

test('`help COMMAND` prints the same help as `COMMAND --help`, and `help settings` lists every setting', () => {
  expect(run('help', 'setup').stdout).toBe(run('setup', '--help').stdout)
  const { status, stdout } = run('help', 'settings')
  expect(status).toBe(0)
  for (const { flag, variable, accepts } of settings) {
    expect(stdout).toContain(`${flag} <`)
    expect(stdout).toContain(`, ${variable}\n`)
    expect(stdout).toContain(`    Accepts ${accepts}.\n`)
  }
})

test.each([
  [['sevre'], 'did you mean serve?'],
  [['help', 'doktor'], 'did you mean doctor?'],
])('with the arguments %j, the error message suggests the most similar command', (args, advice) => {
  const { status, stdout, stderr } = run(...args)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toMatch(/^payments-mcp: "\w+" is not a command \(.*\); the commands are serve, [^\n]+\n$/)
  expect(stderr).toContain(advice)
})
