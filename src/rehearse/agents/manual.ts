import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { Start } from '../../core/host-setups.ts'
import { type Agent, AgentError, type AgentInput } from '../agent.ts'
import { type McpConfigs, writeMcpConfigs } from './mcp-config.ts'

interface ManualOptions {
  /** The input into which the person pastes the agent's answers. An empty line ends each answer. */
  input: Readable
  output: Writable
  /** The command that starts this package, for hosts that can only use MCP servers over stdio. */
  start: Start
}

/**
 * Creates the agent `wait`, which stands for an AI host that a person starts (docs/rehearse.md). `wait` prints the task
 * and the URLs for the person to give to the host. It then reads the host's answer, which the person pastes.
 */
export function manualAgent({ input, output, start }: ManualOptions): Agent {
  let lines: Lines | undefined
  return {
    name: 'wait',
    isScripted: false,
    byPerson: true,
    run: async (trialInput, signal) => {
      signal.throwIfAborted()
      output.write(instructions(trialInput, await writeMcpConfigs(trialInput, start)))
      lines ??= new Lines(input)
      const answer = await lines.readUntilEmptyLine(signal)
      output.write('Answer received.\n')
      return answer
    },
  }
}

function instructions({ task, mcpUrl, key, shopsUrl }: AgentInput, configs: McpConfigs): string {
  return `
Give your agent this task:

${task.trimEnd().replace(/^(?=.)/gm, '  ')}

  MCP server   ${mcpUrl}
  Header       Authorization: Bearer ${key}
  Config file  ${configs.http}
  Stdio config ${configs.stdio}
  Shops        ${shopsUrl}

When the agent is done, paste its final answer here, followed by an empty line.
`
}

/** Reads lines from an input that all trials share. Pauses the input between trials, so that the process can end. */
class Lines {
  readonly #reader: Interface
  readonly #lines: string[] = []
  #ended = false
  #wake = () => {}

  constructor(input: Readable) {
    this.#reader = createInterface({ input, terminal: false })
    this.#reader.on('line', (line) => {
      this.#lines.push(line)
      this.#wake()
    })
    this.#reader.on('close', () => {
      this.#ended = true
      this.#wake()
    })
  }

  /**
   * Returns the lines before the next empty line, or before the end of the input.
   * @throws AgentError if the input has ended and no lines are left; the signal's reason once the signal aborts
   */
  async readUntilEmptyLine(signal: AbortSignal): Promise<string> {
    signal.addEventListener('abort', this.#wakeReader, { once: true })
    try {
      for (;;) {
        signal.throwIfAborted()
        const end = this.#lines.findIndex((line) => line.trim() === '')
        if (end !== -1) return this.#takeTo(end)
        if (this.#ended) return this.#takeRest()
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#wake = resolve
        this.#reader.resume()
        await promise
      }
    } finally {
      signal.removeEventListener('abort', this.#wakeReader)
      if (!this.#ended) this.#reader.pause()
    }
  }

  readonly #wakeReader = () => this.#wake()

  #takeTo(end: number): string {
    return this.#lines
      .splice(0, end + 1)
      .slice(0, -1)
      .join('\n')
      .trimEnd()
  }

  #takeRest(): string {
    if (this.#lines.length > 0) return this.#lines.splice(0).join('\n').trimEnd()
    throw new AgentError('The input ended without an answer. For each trial, enter the answer and then an empty line.')
  }
}
