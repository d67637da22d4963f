/** One step of the scripted model, given the texts of all tool results so far. */
export type Step =
  | { call: string; arguments: (results: readonly string[]) => Record<string, unknown> }
  | { say: (results: readonly string[]) => string }

/** The content of a request to the model, whatever the dialect. */
export interface Shown {
  /** The user's words. */
  said: string
  /** As the host offers them: a tool's own name, often behind a prefix of the server's. */
  tools: readonly string[]
  /** The texts of the tool results in the conversation, oldest first. */
  results: readonly string[]
}

export type Answer = { tool: string; arguments: Record<string, unknown>; id: string } | { text: string }

/** The script of a conversation: one step per result, or a function of the request's content. */
export type Script = readonly Step[] | ((shown: Shown) => Step)

/**
 * The script's next step. How far it has come follows from the conversation alone, so what a host asks besides (a
 * title, a summary) disturbs nothing: such requests offer no tool and get a word.
 */
export function nextAnswer(script: Script, shown: Shown): Answer {
  try {
    return answerOf(typeof script === 'function' ? script(shown) : script[shown.results.length], shown)
  } catch (error) {
    // Unanswered, the host would ask for ever.
    return { text: String(error) }
  }
}

function answerOf(step: Step | undefined, { tools, results }: Pick<Shown, 'tools' | 'results'>): Answer {
  if (step === undefined) return { text: 'Done.' }
  if ('say' in step) return { text: step.say(results) }
  const tool = tools.find(
    (name) => name === step.call || name.endsWith(`_${step.call}`) || name.endsWith(`.${step.call}`),
  )
  if (tool === undefined) return { text: `There is no tool ${step.call}.` }
  return { tool, arguments: step.arguments(results), id: `call_${results.length + 1}` }
}

/** The first id with this prefix in the newest result that has one. @throws Error where no result has one */
export function idIn(results: readonly string[], prefix: string): string {
  for (const result of results.toReversed()) {
    const id = new RegExp(`\\b${prefix}_[0-9a-f]{32}`).exec(result)?.[0]
    if (id !== undefined) return id
  }
  throw new Error(`No result names a ${prefix}_…: ${results.join('\n')}`)
}
