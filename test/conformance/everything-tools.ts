import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  MissingRequiredClientCapabilityError,
  type ServerContext,
  type ServerEvent,
} from '@modelcontextprotocol/server'
import { embedded, image, text, wav } from './everything-answers.ts'

export interface Tool {
  description: string
  inputSchema?: Record<string, unknown>
  call(args: Record<string, unknown>, context: ServerContext, helpers: Helpers): Answer | Promise<Answer>
}

type Answer = CallToolResult | InputRequiredResult

interface Helpers {
  /** Notifies every connected host of a change. */
  notify(event: ServerEvent): void
  /** Signs the state that is sent with a question, so that the host cannot change the state unnoticed. */
  seal(state: unknown): Promise<string>
}

export const content = (...parts: CallToolResult['content']): CallToolResult => ({ content: parts })

const schema = (properties: Record<string, object>) => ({
  type: 'object' as const,
  properties,
  required: Object.keys(properties),
})

/** The tools without questions, and the tools that ask questions as in MCP 2025: they ask the host during the call. */
export const tools: Record<string, Tool> = {
  test_simple_text: {
    description: 'Returns text',
    call: () => content(text('This is a simple text response for testing.')),
  },
  test_image_content: { description: 'Returns an image', call: () => content(image) },
  test_audio_content: {
    description: 'Returns a sound',
    call: () => content({ type: 'audio', data: wav, mimeType: 'audio/wav' }),
  },
  test_embedded_resource: {
    description: 'Returns a resource',
    call: () => content(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
  },
  test_multiple_content_types: {
    description: 'Returns several kinds of content',
    call: () =>
      content(
        text('Multiple content types test:'),
        image,
        embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ),
  },
  test_tool_with_logging: {
    description: 'Logs while it runs',
    call: async (_args, { mcpReq }) => {
      for (const line of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await mcpReq.log('info', line)
      }
      return content(text('Logged three lines.'))
    },
  },
  test_logging_tool: {
    description: 'Logs to hosts that asked for log messages',
    call: async (_args, { mcpReq }) => {
      await mcpReq.log('info', 'Only for hosts that asked')
      return content(text('Logged one line.'))
    },
  },
  test_error_handling: {
    description: 'Always fails',
    call: () => ({ ...content(text('This tool intentionally returns an error for testing')), isError: true }),
  },
  test_tool_with_progress: {
    description: 'Reports its progress',
    call: async (_args, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken
      for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      }
      return content(text('Done.'))
    },
  },
  test_sampling: {
    description: 'Asks the model through the host',
    inputSchema: schema({ prompt: { type: 'string' } }),
    call: async ({ prompt }, { mcpReq }) => {
      const messages = [{ role: 'user' as const, content: text(String(prompt)) }]
      const answer = await mcpReq.requestSampling({ messages, maxTokens: 100 })
      return content(text(`LLM response: ${JSON.stringify(answer.content)}`))
    },
  },
  test_elicitation: {
    description: 'Asks the person through the host',
    inputSchema: schema({ message: { type: 'string' } }),
    call: ({ message }, context) =>
      elicit(context, String(message), { username: { type: 'string' }, email: { type: 'string' } }),
  },
  test_elicitation_sep1034_defaults: {
    description: 'Asks with default answers',
    call: (_args, context) =>
      elicit(context, 'Is this right?', {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      }),
  },
  test_elicitation_sep1330_enums: {
    description: 'Asks for every kind of choice',
    call: (_args, context) => {
      const titled = ['First', 'Second', 'Third'].map((title, index) => ({ const: `value${index + 1}`, title }))
      const plain = ['option1', 'option2', 'option3']
      return elicit(context, 'Choose', {
        untitledSingle: { type: 'string', enum: plain },
        titledSingle: { type: 'string', oneOf: titled },
        legacyEnum: { type: 'string', enum: ['opt1', 'opt2'], enumNames: ['Option One', 'Option Two'] },
        untitledMulti: { type: 'array', items: { type: 'string', enum: plain } },
        titledMulti: { type: 'array', items: { anyOf: titled } },
      })
    },
  },
  test_reconnection: {
    description: 'Closes the stream before it answers, so that the host reconnects for the answer',
    call: (_args, { http }) => {
      http?.closeSSE?.()
      return content(text('Reconnected.'))
    },
  },
  test_missing_capability: {
    description: 'Requires a host with a model',
    call: (_args, context) => {
      if (capabilitiesOf(context).sampling !== undefined) return content(text('The host has a model.'))
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
    },
  },
  test_trigger_tool_change: {
    description: 'Changes the list of tools',
    call: (_args, _context, { notify }) => {
      notify({ kind: 'tools_list_changed' })
      return content(text('The hosts were notified.'))
    },
  },
  test_trigger_prompt_change: {
    description: 'Changes the list of prompts',
    call: (_args, _context, { notify }) => {
      notify({ kind: 'prompts_list_changed' })
      return content(text('The hosts were notified.'))
    },
  },
  test_custom_header: {
    description: 'Has a parameter that the host also sends in a header',
    inputSchema: schema({ region: { type: 'string', 'x-mcp-header': 'Region' } }),
    call: ({ region }) => content(text(String(region))),
  },
  json_schema_2020_12_tool: {
    description: 'Uses features of JSON Schema 2020-12',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' }, phone: { type: 'string' } },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['name'] }] }],
      if: { properties: { name: { const: 'phone' } }, required: ['name'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { required: ['phone'] },
      else: { required: ['name'] },
      additionalProperties: false,
    },
    call: () => content(text('Valid.')),
  },
}

/** Returns the capabilities that the host declares in a request of MCP 2026. */
export function capabilitiesOf({ mcpReq }: ServerContext): ClientCapabilities {
  const envelope: Record<string, unknown> = { ...mcpReq.envelope }
  return envelope[CLIENT_CAPABILITIES_META_KEY] ?? {}
}

async function elicit({ mcpReq }: ServerContext, message: string, properties: Record<string, object>) {
  const requestedSchema = schema(properties) as never
  const { action, content: answer } = await mcpReq.elicitInput({ message, requestedSchema })
  return content(text(`Elicitation completed: action=${action}, content=${JSON.stringify(answer)}`))
}
