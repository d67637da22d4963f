/**
 * One step of the scripted model: a tool call or a final message. The arguments of the call and the text of the message
 * can depend on the tool results so far.
 */
export type Step =
  | { call: string; arguments: (results: readonly string[]) => Record<string, unknown> }
  | { say: (results: readonly string[]) => string }

/** The content of a request to the model, in a form common to all protocols. */
export interface Conversation {
  /** The user's messages. */
  prompt: string
  /** The names of the offered tools. Many hosts prefix them with the server's name. */
  tools: readonly string[]
  /** The text of each tool result in the conversation, oldest first. */
  results: readonly string[]
}

export type Answer = { tool: string; arguments: Record<string, unknown>; id: string } | { text: string }

/**
 * The script of a conversation: a list of steps, or a function that returns the next step. In a list, the index of the
 * next step is the number of tool results so far.
 */
export type Script = readonly Step[] | ((conversation: Conversation) => Step)

/**
 * Returns the model's next answer, which depends only on the script and the conversation. If the host does not offer
 * the tool that the script calls, for example because it asks only for a title, the answer is a message.
 */
export function nextAnswer(script: Script, conversation: Conversation): Answer {
  try {
    const step = typeof script === 'function' ? script(conversation) : script[conversation.results.length]
    return answerOf(step, conversation)
  } catch (error) {
    // Without an answer, the host would repeat its request forever.
    return { text: String(error) }
  }
}

function answerOf(step: Step | undefined, { tools, results }: Pick<Conversation, 'tools' | 'results'>): Answer {
  if (step === undefined) return { text: 'Done.' }
  if ('say' in step) return { text: step.say(results) }
  const tool = tools.find(
    (name) => name === step.call || name.endsWith(`_${step.call}`) || name.endsWith(`.${step.call}`),
  )
  if (tool === undefined) return { text: `There is no tool ${step.call}.` }
  return { tool, arguments: step.arguments(results), id: `call_${results.length + 1}` }
}

/**
 * Returns the first id with the given prefix in the newest result that contains such an id.
 * @throws Error if no result contains such an id
 */
export function idIn(results: readonly string[], prefix: string): string {
  for (const result of results.toReversed()) {
    const id = new RegExp(`\\b${prefix}_[0-9a-f]{32}`).exec(result)?.[0]
    if (id !== undefined) return id
  }
  throw new Error(`No result contains an id ${prefix}_…: ${results.join('\n')}`)
}
