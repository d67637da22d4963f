import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { LanguageModelUsage, ModelMessage, ToolSet } from 'ai'
import { resultValidator } from '../../client/result-schemas.ts'
import { foreignText } from '../../core/foreign-text.ts'
import type { Fetch } from '../../core/in-process-fetch.ts'
import { type Agent, AgentError, type AgentInput, ProviderError } from '../agent.ts'
import type { ModelSettings, Usage } from '../trial-record.ts'
import type { ModelAccess } from './model-provider.ts'

/** The timeout of a tool call. The recipes for hosts set the same timeout (docs/rehearse.md#recipes). */
const toolTimeoutMs = 15_000

/** How many times a request to the provider is retried, at most, after a 429, a 5xx or a broken connection. */
const maxRetries = 4

/** Creates an agent from a model. The agent carries out the model's tool calls in a loop until the model answers. */
export function modelAgent(access: ModelAccess, settings: ModelSettings): Agent {
  return {
    name: access.name,
    isScripted: false,
    model: settings,
    run: async (input, signal) => {
      const client = await connectMcp(input, signal)
      try {
        return await new Turn(access, settings, input).answer(client, signal)
      } finally {
        await client.close()
      }
    },
  }
}

async function connectMcp({ mcpUrl, key, fetch }: AgentInput, signal: AbortSignal): Promise<Client> {
  const client = new Client(
    { name: 'payments-mcp-rehearse', version: '1' },
    { versionNegotiation: { mode: 'auto' }, jsonSchemaValidator: resultValidator },
  )
  const requestInit = { headers: { Authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit, fetch }), { signal })
  return client
}

/** One turn of the conversation, from the person's message to the model's answer. */
class Turn {
  readonly #access: ModelAccess
  readonly #settings: ModelSettings
  readonly #input: AgentInput
  readonly #usage: Usage
  /** The failure of the latest request to the provider; undefined if that request succeeded. */
  #failure: string | undefined

  constructor(access: ModelAccess, settings: ModelSettings, input: AgentInput) {
    this.#access = access
    this.#settings = settings
    this.#input = input
    this.#usage = input.notes.usage ??= { inputTokens: 0, outputTokens: 0, steps: 0, retries: 0 }
  }

  async answer(client: Client, signal: AbortSignal): Promise<string> {
    const { sdk, withFetch } = this.#access
    const { temperature, maxSteps, maxOutputTokens } = this.#settings
    const { notes, task } = this.#input
    const messages = [...((notes.messages ?? []) as ModelMessage[]), { role: 'user' as const, content: task }]
    const instructions = client.getInstructions()
    const remainingSteps = Math.max(1, maxSteps - this.#usage.steps)
    const options = {
      ...(instructions === undefined ? {} : { instructions }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    }
    try {
      const result = await sdk.generateText({
        ...{ ...options, messages, abortSignal: signal, maxRetries, stopWhen: sdk.isStepCount(remainingSteps) },
        model: withFetch(this.#fetch),
        tools: await this.#tools(client, signal),
        onStepEnd: ({ usage }) => this.#count(usage),
      })
      notes.messages = [...messages, ...result.responseMessages]
      return this.#mask(answerOf(result, this.#settings))
    } catch (error) {
      throw this.#toTrialError(error, signal)
    }
  }

  async #tools(client: Client, signal: AbortSignal): Promise<ToolSet> {
    const { dynamicTool, jsonSchema } = this.#access.sdk
    const { tools } = await client.listTools(undefined, { signal })
    const entries = tools.map(({ name, description = '', inputSchema }) => {
      const execute = (input: unknown) =>
        client.callTool(
          { name, arguments: { ...(input as Record<string, unknown>) } },
          { signal, timeout: toolTimeoutMs },
        )
      const schema = jsonSchema(inputSchema as Parameters<typeof jsonSchema>[0])
      const toModelOutput = ({ output }: { output: unknown }) => resultText(output as ToolResult)
      return [name, dynamicTool({ description, inputSchema: schema, execute, toModelOutput })] as const
    })
    return Object.fromEntries(entries)
  }

  /**
   * Sends a request to the provider, and records whether it fails. Counts it as a retry if the previous request failed.
   */
  readonly #fetch: Fetch = async (input, init) => {
    if (this.#failure !== undefined) this.#usage.retries += 1
    try {
      const response = await fetch(input, init)
      this.#failure = response.ok ? undefined : `HTTP ${response.status}`
      return response
    } catch (error) {
      this.#failure = 'no connection'
      throw error
    }
  }

  #count({ inputTokens = 0, outputTokens = 0 }: LanguageModelUsage): void {
    const { price } = this.#settings
    const usage = this.#usage
    usage.steps += 1
    usage.inputTokens += inputTokens
    usage.outputTokens += outputTokens
    if (price === undefined) return
    // A price in dollars per million tokens is the same number as the price of one token in microdollars.
    usage.costMicrodollars = Math.round(usage.inputTokens * price.input + usage.outputTokens * price.output)
  }

  /**
   * Returns a ProviderError if the provider failed. Otherwise, returns the signal's reason if the signal aborted, or
   * the given error if it did not.
   */
  #toTrialError(error: unknown, signal: AbortSignal): unknown {
    const { AISDKError, APICallError, RetryError } = this.#access.sdk
    if (signal.aborted) {
      if (this.#failure === undefined) return signal.reason
      return new ProviderError(`Requests still failed when the trial ended: ${this.#failure}.`)
    }
    const last = RetryError.isInstance(error) ? error.lastError : error
    if (!AISDKError.isInstance(last) && this.#failure === undefined) return error
    const status = APICallError.isInstance(last) && last.statusCode !== undefined ? `HTTP ${last.statusCode}: ` : ''
    const tries = RetryError.isInstance(error) ? ` (${error.errors.length} tries)` : ''
    return new ProviderError(`${status}${lineOf(this.#mask((last as Error).message))}${tries}`)
  }

  /** Masks the provider's API key, because the provider may repeat it in errors or answers. */
  #mask(text: string): string {
    const { key } = this.#access
    return key === undefined ? text : text.replaceAll(key, '[masked]')
  }
}

interface ToolResult {
  isError?: boolean
  content: { type: string; text?: string }[]
}

/** Returns a tool's result in the form that hosts pass to their models. */
function resultText({ isError, content }: ToolResult) {
  const value = content.map(({ text = '' }) => text).join('\n')
  return isError === true ? ({ type: 'error-text', value } as const) : ({ type: 'text', value } as const)
}

/** Returns the final answer. @throws AgentError if the model reached a limit; ProviderError if the provider failed */
function answerOf({ text, finishReason }: { text: string; finishReason: string }, { maxSteps }: ModelSettings): string {
  if (finishReason === 'error') throw new ProviderError('The response ended with an error.')
  if (finishReason === 'tool-calls') {
    throw new AgentError(`The model gave no answer within ${maxSteps} steps (--max-steps).`)
  }
  if (finishReason === 'length' && text === '') {
    throw new AgentError('The model reached its limit of output tokens without an answer (--max-output-tokens).')
  }
  return text
}

const maxMessageLength = 300

function lineOf(message: string): string {
  const line = foreignText(message)
  return line.length <= maxMessageLength ? line : `${line.slice(0, maxMessageLength)}…`
}
