import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { failedResult } from './answers/results.ts'
import type { Dependencies, RunNote } from './dependencies.ts'
import { hostOf } from './host.ts'

/** Records an event that involves no request to the API. If recording fails, the failure is only logged. */
export function note(dependencies: Dependencies, context: ServerContext, runNote: RunNote): void {
  try {
    const { name, version } = hostOf(dependencies.server, context) ?? {}
    dependencies.run.note({ ...runNote, host: [name, version].filter((part) => part !== undefined).join(' ') })
  } catch (error) {
    dependencies.log.warn({ err: error, tool: runNote.operation }, 'an event of the run was not recorded')
  }
}

/** A call that is not sent, with the error for the model. */
interface RefusedCall extends Pick<RunNote, 'operation'> {
  arguments: Record<string, unknown>
  error: Parameters<typeof failedResult>[0]
}

/** Refuses a call that is not sent, and records the refusal. */
export function refusedResult(dependencies: Dependencies, context: ServerContext, call: RefusedCall): CallToolResult {
  note(dependencies, context, { kind: 'call', outcome: 'refused', ...call })
  return failedResult(call.error)
}

/** The ways to ask a person. */
type Way = 'form' | 'page' | 'link'

const wayRemarks: Readonly<Record<Way, string>> = {
  form: 'Asked with a form in the host.',
  page: 'Asked on a page that the host was to open.',
  link: 'Asked on a page whose address the model got.',
}

/** Records that a person was asked, and how. */
export function noteQuestion(
  dependencies: Dependencies,
  context: ServerContext,
  { way, ...question }: { way: Way } & Pick<RunNote, 'operation' | 'facts' | 'amountCents'>,
): void {
  note(dependencies, context, { kind: 'question', outcome: 'asked', remark: wayRemarks[way], ...question })
}

/** Records the person's answer to the question sealed in that state, only once even if the host repeats the answer. */
export function noteAnswer(
  dependencies: Dependencies,
  context: ServerContext,
  {
    state,
    ...answer
  }: { state: { fingerprint: string; step: string; askedAtMs: number } } & Pick<RunNote, 'operation' | 'remark'> & {
      outcome: 'agreed' | 'disagreed'
    },
): void {
  const { fingerprint, step, askedAtMs } = state
  note(dependencies, context, { kind: 'decision', once: `${step} ${fingerprint} ${askedAtMs}`, ...answer })
}
