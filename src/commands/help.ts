import { ConfigError } from '../config/load.ts'
import type { CommandName } from '../config/setting.ts'
import { settings } from '../config/settings.ts'
import { nearestWord } from '../core/spelling.ts'

/** The two examples at the end of each command's help. */
export const examples: Readonly<Record<CommandName, readonly [string, string]>> = {
  stdio: ['payments-mcp', 'payments-mcp --toolsets all --read-only true'],
  bridge: [
    'payments-mcp bridge https://payments.example/mcp',
    'payments-mcp bridge http://127.0.0.1:4010/mcp/x/all --log-level warn',
  ],
  serve: ['payments-mcp serve', 'payments-mcp serve --port 0 --world world.yaml --json'],
  console: ['payments-mcp console', 'payments-mcp console --port 4011 --no-open --json'],
  setup: ['payments-mcp setup cursor', 'payments-mcp setup claude-code --toolsets all --yes'],
  init: [
    'payments-mcp init test/world.yaml',
    'payments-mcp init --production --email ada@example.com --database-url sqlite:./payments.sqlite',
  ],
  doctor: ['payments-mcp doctor', 'payments-mcp doctor --base-url https://payments.example'],
  simulate: ['payments-mcp simulate', 'payments-mcp simulate --agents 8 --seed tuesday'],
  'rotate-keys': ['payments-mcp rotate-keys', 'payments-mcp rotate-keys --database-url sqlite:./payments.sqlite'],
  'reset-second-factor': [
    'payments-mcp reset-second-factor --email ada@example.com',
    'payments-mcp reset-second-factor --email ada@example.com --database-url sqlite:./payments.sqlite',
  ],
  report: ['payments-mcp report --run run_0123 --output run.html', 'payments-mcp report --run cursor-7 --format md'],
  verify: ['payments-mcp verify run.html', 'payments-mcp verify run.json --against-database'],
  login: ['payments-mcp login --base-url https://payments.example', 'payments-mcp login --device'],
  logout: ['payments-mcp logout --base-url https://payments.example', 'payments-mcp logout'],
  whoami: ['payments-mcp whoami', 'payments-mcp whoami --base-url https://payments.example'],
  listen: [
    'payments-mcp listen --forward-to http://127.0.0.1:3000/webhooks',
    'payments-mcp listen --since oldest --count 10 --json',
  ],
}

const maxColumns = 100

/** Returns the end of a command's help: the settings that the command reads, and examples. */
export function helpAfter(command: CommandName): string {
  const flags = settings.filter(({ readBy }) => readBy.includes(command)).map(({ flag }) => flag)
  return `
Settings, as flags or environment variables (payments-mcp help settings describes each):
${wrapWords(flags, '  ')}

Examples:
${examples[command].map((line) => `  ${line}`).join('\n')}
`
}

/** Returns a description of every setting, with the accepted values and the commands that read the setting. */
export function settingsHelp(): string {
  const entries = settings.map(({ flag, placeholder, variable, meaning, accepts, shown, readBy }) => {
    const readers = readBy.map((name) => (name === 'stdio' ? 'the MCP server' : name)).join(', ')
    return `${flag} <${placeholder}>, ${variable}
    ${meaning}.
    Accepts ${accepts}.
    Default: ${shown}. Read by ${readers}.
`
  })
  return `Each setting can be given as a flag or as an environment variable. A flag takes precedence; an empty variable counts as unset.\n\n${entries.join('\n')}`
}

/** Returns the error for an unknown command. The message suggests the most similar command. */
export function unknownCommand(word: string, commands: readonly string[]): ConfigError {
  const nearestCommand = nearestWord(word, commands)
  const advice = nearestCommand === undefined ? '' : ` (did you mean ${nearestCommand}?)`
  return new ConfigError(`${JSON.stringify(word)} is not a command${advice}; the commands are ${commands.join(', ')}.`)
}

function wrapWords(words: readonly string[], indent: string): string {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length + 1 <= maxColumns) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(indent + word)
  }
  return lines.join('\n')
}
