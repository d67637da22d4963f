import { execFileSync, spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')
const script = (shell: string) => execFileSync(process.execPath, [cli, 'completion', shell], { encoding: 'utf8' })

/** Returns the completions that bash offers for the last word of a command line. */
function completionsOf(line: string): string[] {
  const words = line.split(' ')
  const ask = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _payments_mcp; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = spawnSync('bash', ['-c', `${script('bash')}\n${ask}`], { encoding: 'utf8' })
  return stdout.trim().split('\n')
}

test('bash completes commands, the flags of a command, and the settings that the command reads', () => {
  expect(completionsOf('payments-mcp re')).toEqual(['rehearse', 'reset-second-factor', 'report'])
  expect(completionsOf('payments-mcp serve --js')).toEqual(['--json'])
  expect(completionsOf('payments-mcp serve --wor')).toEqual(['--world'])
  expect(completionsOf('payments-mcp --tools')).toEqual(['--toolsets'])
  expect(completionsOf('payments-mcp whoami --po')).toEqual([''])
})

test('the script for fish has a line for each command and flag, with a description', () => {
  expect(script('fish')).toContain(
    "complete -c payments-mcp -n __fish_use_subcommand -f -a doctor -d 'Check Node.js, database, port, key, login, clock and AI hosts, and suggest fixes.'\n",
  )
  expect(script('fish')).toContain("-n '__fish_seen_subcommand_from serve' -l json -d 'Print only one line of JSON")
})

test('an unknown shell is refused with a list of the supported shells', () => {
  const { status, stderr } = spawnSync(process.execPath, [cli, 'completion', 'ksh'], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([2, 'payments-mcp: completion got "ksh"; it accepts bash, zsh, fish.\n'])
})
