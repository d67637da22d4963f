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
 * The step that a call waits for: a decision in the host's form, on an approval's page or on a decision's page; a
 * verification; or a card shown to the person.
 */
type Step = 'decision' | 'page' | 'decisionPage' | 'verification' | 'card'

/** The state with which a call is continued, sealed while the host has it. */
export interface AskedState {
  /** The fingerprint of the call with its arguments and the facts shown to the person. */
  fingerprint: string
  step: Step
  /** The key under which the call is carried out, so that a repeated answer has no second effect. */
  key?: string
  /** The id of the decision on its page. */
  decision?: string
  /** How often a page was offered. */
  round?: number
  /** The page for the person, in case the host does not show it to them. */
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

/** Makes the host open a page for its person. The call comes back with their answer and the sealed state. */
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
 * Returns whether the question was probably shown to nobody: a host without a person cancels, or refuses at once. A
 * fast agreement counts, because some people let their host agree for them.
 */
export function isNotShown(
  { system }: Dependencies,
  { askedAtMs }: AskedState,
  { action }: ReturnType<typeof answerTo>,
): boolean {
  return action === 'cancel' || (action !== 'missing' && system.now() - askedAtMs < fastestPersonMs)
}

/** Returns how the host can ask its person: by a form, or by opening a page. A host that names no mode has forms. */
export function modesOf(server: Server, context: ServerContext): { form: boolean; url: boolean } {
  const envelope = context.mcpReq.envelope as { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined
  // In MCP 2026 each request carries the capabilities; in MCP 2025 only `initialize` does.
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
 * Returns the sealed state of a step; undefined if the person was not asked about this call, or was asked another
 * question.
 */
export function stateOf(context: ServerContext, fingerprint: Fingerprint, step: Step): AskedState | undefined {
  const state = context.mcpReq.requestState<AskedState>()
  if (typeof state !== 'object' || state?.step !== step) return undefined
  return state.fingerprint === fingerprint() ? state : undefined
}

/** The fingerprint of a call, computed on demand because most calls ask nobody. */
export type Fingerprint = () => string

/** Fingerprints the tool, every argument, and the facts shown. An answer counts only while all of them stay equal. */
export function fingerprintCall(tool: string, input: unknown, questionText: string): Fingerprint {
  return () => sha256(canonical([tool, input, questionText]))
}

/** Serializes a value so that equal values give equal texts. */
export function canonical(value: unknown): string {
  return JSON.stringify(sortKeys(value))
}

/** Sorts the keys of objects: a host may send the arguments in another order when it answers. */
function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortKeys)
  const entries = Object.entries(value).map(([name, inner]) => [name, sortKeys(inner)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * The waits before each check for a decision on the page, in milliseconds. Their sum is less than the minute that hosts
 * give a request. A person who takes longer is asked again.
 */
export const waitsMs = [0, 2_000, 3_000, 5_000, 5_000, 10_000, 10_000, 10_000]

/** The sum of these waits. */
export const pageWaitMs = waitsMs.reduce((sum, ms) => sum + ms)

/** How often a page is offered for one call. */
export const maxRounds = 3

/** The advice for a model after a person said no. */
export const askNoMore = 'Tell them so. Do not call again unless they ask for it.'

/** Returns the answer to a call whose question nobody saw. It says where the person can decide instead. */
export function notShown(where: string): CallToolResult {
  return failedResult({
    code: 'confirmation_not_shown',
    detail: 'The host did not show the question to the person, or they closed it unanswered. Nothing was done.',
    next: `Tell them: they can do it ${where}. Do not call again unless they ask for it.`,
  })
}

/** Creates a key that is sealed into a question, so that an answer sent twice only repeats the call. */
export function newKey({ system }: Dependencies): string {
  return `idk_${newSecret(system, 16)}`
}

/** Returns the place where a person decides if the host cannot ask them. */
export function dashboardOf({ people: { publicUrl } }: Dependencies): string {
  return publicUrl === undefined ? 'the dashboard of the payments account' : `the dashboard at ${publicUrl}`
}
