import { spawnSync } from 'node:child_process'

/**
 * Whether util-linux's command `script` is installed, which runs a command in a terminal. The npm packages for this
 * purpose need a compiler.
 */
export const hasTerminal =
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true

/**
 * Runs a command in a terminal, with `typed` as the keyboard input. Returns stdout and stderr in one string, and the
 * exit code.
 */
export function onTerminal(
  command: readonly string[],
  { env = {}, typed = '' }: { env?: Record<string, string>; typed?: string },
) {
  const line = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
  const options = { env: { PATH: process.env.PATH, ...env }, input: typed, encoding: 'utf8', timeout: 120_000 } as const
  const { stdout, status } = spawnSync('script', ['--quiet', '--return', '--command', line, '/dev/null'], options)
  return { text: stdout.replaceAll('\r\n', '\n'), status }
}
