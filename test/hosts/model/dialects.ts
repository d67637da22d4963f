import { randomUUID } from 'node:crypto'
import type { Answer, Conversation } from './script.ts'

// biome-ignore lint/suspicious/noExplicitAny: messages of four protocols; this code reads only a few of their members.
type Json = any

/** One protocol of model servers: how to read its requests and write its answers. */
export interface Dialect {
  path: RegExp
  read(body: Json): Conversation
  /** Returns the body of an answer that is not streamed. */
  body(answer: Answer, model: string): Json
  /** Returns the events of a streamed answer. This function is missing if no tested host streams in this protocol. */
  stream?(answer: Answer, model: string): { event?: string; data: Json }[]
}

/** Creates a unique id, because hosts treat two messages with the same id as one. */
const newIdOf = (kind: string) => `${kind}_${randomUUID().replaceAll('-', '')}`

const textOf = (content: Json): string => {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map((part) => part.text ?? JSON.stringify(part)).join('\n')
  return JSON.stringify(content ?? null)
}

const textsBy = (speaker: string, messages: Json[]) =>
  messages.flatMap(({ role, content }) => (role === speaker ? [textOf(content)] : [])).join('\n')

/** OpenAI's Chat Completions API, which LangChain and the Vercel AI SDK use. */
const chatCompletions: Dialect = {
  path: /\/chat\/completions$/,
  read: ({ tools = [], messages = [] }) => ({
    prompt: textsBy('user', messages),
    tools: tools.map((tool: Json) => tool.function.name),
    results: messages.filter(({ role }: Json) => role === 'tool').map(({ content }: Json) => textOf(content)),
  }),
  body: (answer, model) => {
    const called = 'tool' in answer
    const message = called
      ? {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: answer.id, type: 'function', function: functionOf(answer) }],
        }
      : { role: 'assistant', content: answer.text }
    const choice = { index: 0, message, finish_reason: called ? 'tool_calls' : 'stop' }
    return {
      id: newIdOf('chatcmpl'),
      object: 'chat.completion',
      created: 0,
      model,
      choices: [choice],
      usage: chatUsage,
    }
  },
}

const chatUsage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const functionOf = (answer: { tool: string; arguments: object }) => ({
  name: answer.tool,
  arguments: JSON.stringify(answer.arguments),
})

/**
 * OpenAI's Responses API, which the OpenAI Agents SDK and Codex use. A tool in a namespace is listed as
 * `namespace.tool`.
 */
const responses: Dialect = {
  path: /\/responses$/,
  read: ({ tools = [], input = [] }) => ({
    prompt: typeof input === 'string' ? input : textsBy('user', input),
    tools: tools.flatMap((tool: Json) =>
      tool.type === 'namespace' ? tool.tools.map(({ name }: Json) => `${tool.name}.${name}`) : (tool.name ?? tool.type),
    ),
    results: (Array.isArray(input) ? input : [])
      .filter(({ type }: Json) => type === 'function_call_output')
      .map(({ output }: Json) => textOf(output)),
  }),
  body: (answer, model) => ({ ...responseOf(model), status: 'completed', output: [outputItem(answer)], usage }),
  stream: (answer, model) => {
    const item = outputItem(answer)
    const response = responseOf(model)
    const events = [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
    ]
    return events.map((data, index) => ({ event: data.type, data: { ...data, sequence_number: index } }))
  },
}

const usage = {
  input_tokens: 1,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 1,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 2,
}
const responseOf = (model: string) => ({
  id: newIdOf('resp'),
  object: 'response',
  created_at: 0,
  model,
  tools: [],
  error: null,
})

function outputItem(answer: Answer): Json {
  if ('text' in answer) {
    const content = [{ type: 'output_text', text: answer.text, annotations: [] }]
    return { id: newIdOf('msg'), type: 'message', role: 'assistant', status: 'completed', content }
  }
  const [namespace, name] = answer.tool.includes('.') ? answer.tool.split('.') : [undefined, answer.tool]
  const called = {
    name,
    arguments: JSON.stringify(answer.arguments),
    ...(namespace === undefined ? {} : { namespace }),
  }
  return { id: `fc_${answer.id}`, type: 'function_call', call_id: answer.id, status: 'completed', ...called }
}

/** Anthropic's Messages API, which Claude Code uses. */
const messages: Dialect = {
  path: /\/v1\/messages$/,
  read: ({ tools = [], messages = [] }) => ({
    prompt: textsBy('user', messages),
    tools: tools.map(({ name }: Json) => name),
    results: messages
      .flatMap(({ content }: Json) => (Array.isArray(content) ? content : []))
      .filter(({ type }: Json) => type === 'tool_result')
      .map(({ content }: Json) => textOf(content)),
  }),
  body: (answer, model) => ({ ...messageOf(model), content: [blockOf(answer)], stop_reason: stopReason(answer) }),
  stream: (answer, model) => {
    const block = blockOf(answer)
    const empty = 'text' in answer ? { type: 'text', text: '' } : { ...block, input: {} }
    const delta =
      'text' in answer
        ? { type: 'text_delta', text: answer.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(answer.arguments) }
    const events = [
      { type: 'message_start', message: { ...messageOf(model), content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: empty },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: stopReason(answer), stop_sequence: null },
        usage: { output_tokens: 1 },
      },
      { type: 'message_stop' },
    ]
    return events.map((data) => ({ event: data.type, data }))
  },
}

const messageOf = (model: string) => ({
  id: newIdOf('msg'),
  type: 'message',
  role: 'assistant',
  model,
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
})
const stopReason = (answer: Answer) => ('text' in answer ? 'end_turn' : 'tool_use')
const blockOf = (answer: Answer): Json =>
  'text' in answer
    ? { type: 'text', text: answer.text }
    : { type: 'tool_use', id: `toolu_${answer.id}`, name: answer.tool, input: answer.arguments }

/** Google's generateContent API, which Gemini CLI uses. */
const generateContent: Dialect = {
  path: /:(streamGenerateContent|generateContent)$/,
  read: ({ tools = [], contents = [] }) => ({
    prompt: textsBy(
      'user',
      contents.map(({ role, parts }: Json) => ({ role, content: parts })),
    ),
    tools: tools.flatMap((tool: Json) => (tool.functionDeclarations ?? []).map(({ name }: Json) => name)),
    results: contents
      .flatMap(({ parts }: Json) => parts ?? [])
      .filter((part: Json) => part.functionResponse !== undefined)
      .map((part: Json) => textOf(part.functionResponse.response)),
  }),
  body: (answer, model) => {
    const part =
      'text' in answer ? { text: answer.text } : { functionCall: { name: answer.tool, args: answer.arguments } }
    const candidate = { index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
    return { candidates: [candidate], usageMetadata, modelVersion: model }
  },
  stream: (answer, model) => [{ data: generateContent.body(answer, model) }],
}

export const dialects: readonly Dialect[] = [chatCompletions, responses, messages, generateContent]
