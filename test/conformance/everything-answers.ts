import {
  acceptedContent,
  type GetPromptResult,
  type InputRequiredResult,
  inputRequired,
  type ReadResourceResult,
  ResourceNotFoundError,
  type ServerContext,
} from '@modelcontextprotocol/server'

/** An image of one pixel, in Base64. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
/** A sound without samples, in Base64. */
export const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

export const text = (words: string) => ({ type: 'text' as const, text: words })
export const image = { type: 'image' as const, data: png, mimeType: 'image/png' }
export const embedded = (uri: string, mimeType: string, words: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: words },
})

export const resources = [
  { uri: 'test://static-text', name: 'static text', description: 'Text', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'static binary', description: 'An image', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'watched', description: 'Can be subscribed to', mimeType: 'text/plain' },
]

export const resourceTemplates = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    description: 'The data for an id',
    mimeType: 'application/json',
  },
]

export function readResource(uri: string): ReadResourceResult {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id !== undefined) {
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
    return { contents: [{ uri, mimeType: 'application/json', text: data }] }
  }
  const { mimeType } = resources.find((resource) => resource.uri === uri) ?? {}
  if (mimeType === undefined) throw new ResourceNotFoundError(uri)
  if (mimeType === 'image/png') return { contents: [{ uri, mimeType, blob: png }] }
  return { contents: [{ uri, mimeType, text: 'This is the content of the static text resource.' }] }
}

type Arguments = Record<string, string>

interface Prompt {
  description: string
  arguments?: { name: string; description: string; required: boolean }[]
  get(args: Arguments, context: ServerContext): GetPromptResult | InputRequiredResult
}

const messagesOf = (...contents: GetPromptResult['messages'][number]['content'][]): GetPromptResult => ({
  messages: contents.map((content) => ({ role: 'user', content })),
})
const argument = (name: string) => ({ name, description: 'An argument', required: true })

export const prompts: Record<string, Prompt> = {
  test_simple_prompt: {
    description: 'Returns a fixed message',
    get: () => messagesOf(text('This is a simple prompt for testing.')),
  },
  test_prompt_with_arguments: {
    description: 'Returns its arguments',
    arguments: [argument('arg1'), argument('arg2')],
    get: ({ arg1, arg2 }) => messagesOf(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  test_prompt_with_embedded_resource: {
    description: 'Includes a resource',
    arguments: [argument('resourceUri')],
    get: ({ resourceUri = '' }) =>
      messagesOf(
        embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ),
  },
  test_prompt_with_image: {
    description: 'Includes an image',
    get: () => messagesOf(image, text('Please analyze the image above.')),
  },
  test_input_required_result_prompt: {
    description: 'Asks the person for the context first',
    get: (_args, { mcpReq }) => {
      const content = acceptedContent(mcpReq.inputResponses, 'user_context')
      if (content !== undefined) return messagesOf(text(`The context is ${content.context}.`))
      const user_context = inputRequired.elicit({
        message: 'What context should the prompt use?',
        requestedSchema: { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] },
      })
      return inputRequired({ inputRequests: { user_context } })
    },
  },
}
