import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { failed } from './answers/results.ts'
import type { Dependencies, RunNote } from './dependencies.ts'
import { hostOf } from './host.ts'

/** Tells what no request to the API will tell. It fails no call. */
export function note(dependencies: Dependencies, context: ServerContext, told: RunNote): void {
  try {
    const { name, version } = hostOf(dependencies.server, context) ?? {}
    dependencies.run.note({ ...told, host: [name, version].filter((part) => part !== undefined).join(' ') })
  } catch (error) {
    dependencies.log.warn({ err: error, tool: told.operation }, 'what happened in the run was not kept')
  }
}

/** A call that is not sent, with what the model is told of that. */
interface Refused extends Pick<RunNote, 'operation'> {
  arguments: Record<string, unknown>
  error: Parameters<typeof failed>[0]
}

/** Answers a call that is not sent, and tells so. */
export function refused(dependencies: Dependencies, context: ServerContext, call: Refused): CallToolResult {
  note(dependencies, context, { kind: 'call', outcome: 'refused', ...call })
  return failed(call.error)
}

/** How a person is asked. */
type Way = 'form' | 'page' | 'link'

const ways: Readonly<Record<Way, string>> = {
  form: 'Asked by a form of the host.',
  page: 'Asked on a page, which the host was to open.',
  link: 'Asked on a page, whose address the model was told.',
}

/** Tells that a person was asked, and how. */
export function noteQuestion(
  dependencies: Dependencies,
  context: ServerContext,
  { way, ...question }: { way: Way } & Pick<RunNote, 'operation' | 'facts' | 'amountCents'>,
): void {
  note(dependencies, context, { kind: 'question', outcome: 'asked', remark: ways[way], ...question })
}

/** Tells what the person answered at their host to what is sealed in that state, however often the host says it. */
export function noteAnswer(
  dependencies: Dependencies,
  context: ServerContext,
  {
    state,
    ...answer
  }: { state: { of: string; step: string; askedAtMs: number } } & Pick<RunNote, 'operation' | 'remark'> & {
      outcome: 'agreed' | 'disagreed'
    },
): void {
  const { of, step, askedAtMs } = state
  note(dependencies, context, { kind: 'decision', once: `${step} ${of} ${askedAtMs}`, ...answer })
}
