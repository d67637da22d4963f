import {
  acceptedContent,
  type InputRequests,
  inputRequired,
  inputResponse,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { text } from './everything-answers.ts'
import { capabilitiesOf, content, type Tool } from './everything-tools.ts'

const questionOf = (message: string, properties: Record<string, { type: 'string' } | { type: 'boolean' }>) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
  })
const modelQuestionOf = (words: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: text(words) }], maxTokens })

const nameQuestion = questionOf('What is your name?', { name: { type: 'string' } })
const confirmationQuestion = questionOf('Please confirm', { ok: { type: 'boolean' } })

const isAnswered = ({ mcpReq }: ServerContext, requests: InputRequests) =>
  Object.keys(requests).every((key) => inputResponse(mcpReq.inputResponses, key).kind !== 'missing')

/** Creates a `call` function that asks until the host has answered every question, and then returns the answers. */
const askUntilAnswered = (inputRequests: InputRequests): Tool['call'] => {
  return (_args, context) => {
    if (!isAnswered(context, inputRequests)) return inputRequired({ inputRequests })
    return content(text(`Answered: ${JSON.stringify(context.mcpReq.inputResponses)}`))
  }
}

/** Creates a `call` function that asks until the host has answered every question and sent the state back. */
const askWithState = (inputRequests: InputRequests): Tool['call'] => {
  return async (_args, context, { seal }) => {
    const state = context.mcpReq.requestState<{ issued: boolean }>()
    if (state?.issued === true && isAnswered(context, inputRequests)) return content(text('state-ok'))
    return inputRequired({ inputRequests, requestState: await seal({ issued: true }) })
  }
}

/**
 * The tools that ask questions as in MCP 2026: a tool returns questions, and the host repeats the call with answers.
 */
export const askingTools: Record<string, Tool> = {
  test_input_required_result_elicitation: {
    description: 'Asks the person',
    call: (_args, { mcpReq }) => {
      const answered = acceptedContent(mcpReq.inputResponses, 'user_name')
      if (answered === undefined) return inputRequired({ inputRequests: { user_name: nameQuestion } })
      return content(text(`Hello, ${answered.name}!`))
    },
  },
  test_input_required_result_sampling: {
    description: 'Asks the model',
    call: askUntilAnswered({ capital_question: modelQuestionOf('What is the capital of France?', 100) }),
  },
  test_input_required_result_list_roots: {
    description: 'Asks for the host’s roots',
    call: askUntilAnswered({ client_roots: inputRequired.listRoots() }),
  },
  test_input_required_result_request_state: {
    description: 'Asks, and needs its state back with the answer',
    call: askWithState({ confirm: confirmationQuestion }),
  },
  test_input_required_result_tampered_state: {
    description: 'Asks, and refuses a state that was tampered with',
    call: askWithState({ confirm: confirmationQuestion }),
  },
  test_input_required_result_multiple_inputs: {
    description: 'Asks three questions at once',
    call: askWithState({
      user_name: nameQuestion,
      greeting: modelQuestionOf('Generate a greeting', 50),
      client_roots: inputRequired.listRoots(),
    }),
  },
  test_input_required_result_multi_round: {
    description: 'Asks two questions, one after the other',
    call: async (_args, { mcpReq }, { seal }) => {
      const { inputResponses } = mcpReq
      const state = mcpReq.requestState<{ name: string }>()
      const color = acceptedContent(inputResponses, 'step2')
      if (state !== undefined && color !== undefined) return content(text(`${state.name} likes ${color.color}.`))
      const step1 = acceptedContent(inputResponses, 'step1')
      if (step1 === undefined) {
        const first = questionOf('Step 1: What is your name?', { name: { type: 'string' } })
        return inputRequired({ inputRequests: { step1: first }, requestState: await seal({ name: '' }) })
      }
      const second = questionOf('Step 2: What is your favorite color?', { color: { type: 'string' } })
      return inputRequired({ inputRequests: { step2: second }, requestState: await seal({ name: step1.name }) })
    },
  },
  test_input_required_result_capabilities: {
    description: 'Asks only questions that the host supports',
    call: (args, context, helpers) => {
      const { sampling, elicitation } = capabilitiesOf(context)
      return askUntilAnswered({
        ...(sampling === undefined ? {} : { greeting: modelQuestionOf('Generate a greeting', 50) }),
        ...(elicitation === undefined ? {} : { user_name: nameQuestion }),
      })(args, context, helpers)
    },
  },
  test_streaming_elicitation: {
    description: 'Sends a notification before its question',
    call: async (_args, { mcpReq }) => {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: 'streaming', progress: 1 } })
      return inputRequired({ inputRequests: { user_name: nameQuestion } })
    },
  },
}
