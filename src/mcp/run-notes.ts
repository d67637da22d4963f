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

/** A tool call that the MCP server refuses, with the error for the model. */
interface RefusedCall extends Pick<RunNote, 'operation'> {
  arguments: Record<string, unknown>
  error: Parameters<typeof failedResult>[0]
}

/** Records that a call was refused before any request to the API, and returns the error as its result. */
export function refusedResult(dependencies: Dependencies, context: ServerContext, call: RefusedCall): CallToolResult {
  note(dependencies, context, { kind: 'call', outcome: 'refused', ...call })
  return failedResult(call.error)
}

/** The ways to ask a person. */
type Way = 'form' | 'page' | 'link'

const wayRemarks: Readonly<Record<Way, string>> = {
  form: 'The person was asked with a form in the host.',
  page: 'The host was asked to open a page with the question.',
  link: 'The model got the address of a page with the question.',
}

/** Records that a person was asked, and how. */
export function noteQuestion(
  dependencies: Dependencies,
  context: ServerContext,
  { way, ...question }: { way: Way } & Pick<RunNote, 'operation' | 'facts' | 'amountCents'>,
): void {
  note(dependencies, context, { kind: 'question', outcome: 'asked', remark: wayRemarks[way], ...question })
}

/** Records the person's answer once, even if the host sends it several times. `state` was sealed with the question. */
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
