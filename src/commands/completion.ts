import type { Command } from 'commander'
import { ConfigError } from '../config/load.ts'
import { settings } from '../config/settings.ts'
import { show } from '../core/errors.ts'

/** A command and its flags. The MCP server over stdio starts without a command, so its name here is `''`. */
interface Completion {
  name: string
  description: string
  flags: { flag: string; meaning: string }[]
}

const writers = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** The shells for which there is a completion script. */
export const shells = Object.keys(writers)

/**
 * Returns a shell script that completes the commands and flags of this program.
 * @throws ConfigError if there is no script for this shell
 */
export function completionScript(program: Command, shell: string): string {
  const write = Object.hasOwn(writers, shell) ? writers[shell as keyof typeof writers] : undefined
  if (write === undefined) throw new ConfigError(`completion got ${show(shell)}; it accepts ${shells.join(', ')}.`)
  const commands = [program, ...program.commands].map((command) => ({
    name: command === program ? '' : command.name(),
    description: command.description(),
    flags: flagsOf(command, command === program ? 'stdio' : command.name()),
  }))
  return write(commands)
}

function flagsOf(command: Command, reader: string): Completion['flags'] {
  const visibleOptions = command.options.filter(({ hidden }) => !hidden)
  const read = settings.filter(({ readBy }) => readBy.some((name) => name === reader))
  return [
    ...visibleOptions.map(({ long, description }) => ({ flag: long ?? '', meaning: description })),
    ...read.map(({ flag, meaning }) => ({ flag, meaning })),
    { flag: '--help', meaning: 'display help for command' },
  ]
}

function bashScript(commands: readonly Completion[]): string {
  const names = commands.map(({ name }) => name).join(' ')
  const flags = (command: Completion) => command.flags.map(({ flag }) => flag).join(' ')
  const cases = commands.map((command) => `    ${command.name || '*'}) words="${flags(command)}" ;;`)
  const [server = '', ...others] = cases
  return `# Add to ~/.bashrc: eval "$(payments-mcp completion bash)"
_payments_mcp() {
  local words
  case "\${COMP_WORDS[1]}" in
${[...others, server].join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="$words${names}"; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _payments_mcp payments-mcp
`
}

function zshScript(commands: readonly Completion[]): string {
  const bash = bashScript(commands).split('\n').slice(1).join('\n')
  return `# Add to ~/.zshrc: eval "$(payments-mcp completion zsh)"
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
${bash}`
}

function fishScript(commands: readonly Completion[]): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`
  const lines = commands.flatMap(({ name, description, flags }) => {
    const when = name === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${name}`
    const command = name === '' ? [] : [`-n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`]
    const options = flags.map(
      ({ flag, meaning }) => `-n ${quoted(when)} -l ${flag.replace(/^--/, '')} -d ${quoted(meaning)}`,
    )
    return [...command, ...options].map((line) => `complete -c payments-mcp ${line}`)
  })
  return `# Write to ~/.config/fish/completions/payments-mcp.fish
${lines.join('\n')}
`
}
