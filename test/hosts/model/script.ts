/** One step of the scripted model, given the texts of all tool results so far. */
export type Step =
  | { call: string; arguments: (results: readonly string[]) => Record<string, unknown> }
  | { say: (results: readonly string[]) => string }

/** The content of a request to the model, whatever the dialect. */
export interface Conversation {
  /** The user's messages. */
  prompt: string
  /** The names that the host offers: a tool's own name, often with the server's prefix. */
  tools: readonly string[]
  /** The texts of the tool results in the conversation, oldest first. */
  results: readonly string[]
}

export type Answer = { tool: string; arguments: Record<string, unknown>; id: string } | { text: string }

/** The script of a conversation: a step for each number of results so far, or a function of the request's content. */
export type Script = readonly Step[] | ((conversation: Conversation) => Step)

/**
 * Returns the script's next answer. The position in the script follows from the conversation alone. The host's other
 * requests, such as for a title or a summary, offer no tools and get a one-word answer.
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
 * Returns the first id with this prefix in the newest result that has one.
 * @throws Error if no result has one
 */
export function idIn(results: readonly string[], prefix: string): string {
  for (const result of results.toReversed()) {
    const id = new RegExp(`\\b${prefix}_[0-9a-f]{32}`).exec(result)?.[0]
    if (id !== undefined) return id
  }
  throw new Error(`No result names a ${prefix}_…: ${results.join('\n')}`)
}
