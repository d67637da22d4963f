import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { newSecret, sha256 } from '../../core/system.ts'
import { failedResult } from '../answers/results.ts'
import type { Dependencies } from '../dependencies.ts'

/**
 * The step that the person takes before the call continues. `decision` is a form in the host. `page` is the page of an
 * approval, `decisionPage` the page of a pending decision, `verification` the page for a second factor, and `card` the
 * page with a card number.
 */
type Step = 'decision' | 'page' | 'decisionPage' | 'verification' | 'card'

/** The state of a call that waits for a person. The host gets it sealed, and returns it with the person's answer. */
export interface AskedState {
  /** The fingerprint of the call with its arguments and the facts shown to the person. */
  fingerprint: string
  step: Step
  /** The idempotency key for the call. It prevents a second effect if the host sends the answer twice. */
  key?: string
  /** The id of the pending decision, for the step `decisionPage`. */
  decision?: string
  /** The number of times that a page was offered. */
  round?: number
  /** The address of the page. The model gets this address if the host did not show the page to the person. */
  page?: string
  askedAtMs: number
}

/** Seals the state of a question, with the current time as the time of asking. */
export function seal(
  { people, system }: Dependencies,
  state: Omit<AskedState, 'askedAtMs'>,
  context: ServerContext,
): Promise<string> {
  return people.states.mint({ ...state, askedAtMs: system.now() } satisfies AskedState, context)
}

/** Asks the host to open a page. The host then repeats the call with the person's answer and the sealed state. */
export async function openPage(
  dependencies: Dependencies,
  context: ServerContext,
  page: { message: string; url: string },
  state: Omit<AskedState, 'askedAtMs'>,
): Promise<InputRequiredResult> {
  return inputRequired({
    inputRequests: { [state.step]: inputRequired.elicitUrl(page) },
    requestState: await seal(dependencies, state, context),
  })
}

/** The shortest time in which a person can read a question and decide. */
const fastestPersonMs = 500

/**
 * Returns whether the host probably answered without showing the question to a person: it canceled the question, or
 * answered faster than a person could. Callers accept an agreement without this check, because some people let their
 * host agree for them.
 */
export function isNotShown(
  { system }: Dependencies,
  { askedAtMs }: AskedState,
  { action }: ReturnType<typeof answerTo>,
): boolean {
  return action === 'cancel' || (action !== 'missing' && system.now() - askedAtMs < fastestPersonMs)
}

/** Returns whether the host can show forms and open pages. A host that states no mode of elicitation shows forms. */
export function modesOf(server: Server, context: ServerContext): { form: boolean; url: boolean } {
  const envelope = context.mcpReq.envelope as { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined
  // In MCP 2026, each request states the capabilities; in MCP 2025, only `initialize` does.
  const elicitation = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities())?.elicitation
  const url = elicitation?.url !== undefined
  return { form: elicitation !== undefined && (elicitation.form !== undefined || !url), url }
}

/** Builds a form with one unchecked checkbox. */
export function decisionForm(message: string, approveLabel: string): InputRequest {
  return inputRequired.elicit({
    message,
    requestedSchema: {
      type: 'object',
      properties: { confirm: { type: 'boolean', title: approveLabel } },
      required: ['confirm'],
    },
  })
}

/** Returns the person's answer to a step, as reported by their host. */
export function answerTo(context: ServerContext, step: Step) {
  const answer = inputResponse(context.mcpReq.inputResponses, step)
  if (answer.kind !== 'elicit') return { action: 'missing', confirmed: false } as const
  return { action: answer.action, confirmed: answer.action === 'accept' && answer.content?.confirm === true }
}

/**
 * Returns the sealed state of a step; undefined if the person was not asked about this call, or was asked a different
 * question.
 */
export function stateOf(context: ServerContext, fingerprint: Fingerprint, step: Step): AskedState | undefined {
  const state = context.mcpReq.requestState<AskedState>()
  if (typeof state !== 'object' || state?.step !== step) return undefined
  return state.fingerprint === fingerprint() ? state : undefined
}

/**
 * A function that computes the fingerprint of a call. It is called only on demand, because most calls need no person.
 */
export type Fingerprint = () => string

/** Fingerprints the tool, its arguments and the question. A person's answer counts only if none of these changed. */
export function fingerprintCall(tool: string, input: unknown, questionText: string): Fingerprint {
  return () => sha256(canonical([tool, input, questionText]))
}

/** Serializes a value so that equal values give equal strings. */
export function canonical(value: unknown): string {
  return JSON.stringify(sortKeys(value))
}

/** Sorts the keys of objects, because a host may change the order of the arguments when it repeats a call. */
function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortKeys)
  const entries = Object.entries(value).map(([name, inner]) => [name, sortKeys(inner)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * How many milliseconds to wait before each check of whether the person has finished on the page. Hosts give up on a
 * request after a minute, so the sum is less than a minute. A person who takes longer is asked again.
 */
export const waitsMs = [0, 2_000, 3_000, 5_000, 5_000, 10_000, 10_000, 10_000]

/** The longest time that a call waits for the person to finish on the page. */
export const pageWaitMs = waitsMs.reduce((sum, ms) => sum + ms)

/** The maximum number of times that a page is offered for one call. */
export const maxRounds = 3

/** The advice for a model after the person declined. */
export const askNoMore = 'Tell the person that nothing was done. Do not call again unless they ask for it.'

/** Returns the answer to a call whose question was not shown. The answer says where the person can decide instead. */
export function notShown(where: string): CallToolResult {
  return failedResult({
    code: 'confirmation_not_shown',
    detail: 'The host did not show the question, or the person closed it without an answer. Nothing was done.',
    next: `Tell the person that they can do it ${where}. Do not call again unless they ask for it.`,
  })
}

export function newKey({ system }: Dependencies): string {
  return `idk_${newSecret(system, 16)}`
}

/** Describes the dashboard, where the person can decide if the host cannot ask them. */
export function dashboardOf({ people: { publicUrl } }: Dependencies): string {
  return publicUrl === undefined ? 'the dashboard of the payments account' : `the dashboard at ${publicUrl}`
}
