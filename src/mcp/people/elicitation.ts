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
import { failed } from '../answers/results.ts'
import type { Dependencies } from '../dependencies.ts'

/**
 * The step that a call waits for: a decision in the host, on the page of an approval or on that of a decision; a
 * verification; a card that was shown.
 */
type Step = 'decision' | 'page' | 'decisionPage' | 'verification' | 'card'

/** The state that a call is continued with, sealed while it is away. */
export interface AskedState {
  /** The call with its arguments, and what was told to the person. */
  of: string
  step: Step
  /** The key under which the call is to be carried out: whoever sends the answer twice does nothing twice. */
  key?: string
  /** The id of the decision that is made on its page. */
  decision?: string
  /** How often a page was offered. */
  round?: number
  /** The page for the person, should the host not show it to them. */
  page?: string
  askedAtMs: number
}

/** Seals what a person is asked now. */
export function seal(
  { people, system }: Dependencies,
  state: Omit<AskedState, 'askedAtMs'>,
  context: ServerContext,
): Promise<string> {
  return people.states.mint({ ...state, askedAtMs: system.now() } satisfies AskedState, context)
}

/** Has the host open a page for its person. The call comes back with their answer and the sealed state. */
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

/** Nobody reads a question and decides in less. */
const fastestPersonMs = 500

/**
 * Whether nobody saw the question, as far as can be told: a host without a person cancels, or refuses at once. An
 * agreement is not judged by its haste: some people have hosts agree for them.
 */
export function isNotShown(
  { system }: Dependencies,
  { askedAtMs }: AskedState,
  { action }: ReturnType<typeof answerTo>,
): boolean {
  return action === 'cancel' || (action !== 'missing' && system.now() - askedAtMs < fastestPersonMs)
}

/** How the host can ask its person: by a form, by opening a page. A host that names no mode has forms. */
export function modesOf(server: Server, context: ServerContext): { form: boolean; url: boolean } {
  const envelope = context.mcpReq.envelope as { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined
  // A request of the later era says it itself; a connection of the earlier one said it once.
  const elicitation = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities())?.elicitation
  const url = elicitation?.url !== undefined
  return { form: elicitation !== undefined && (elicitation.form !== undefined || !url), url }
}

/** One tick that nobody has set beforehand. */
export function decisionForm(message: string, tick: string): InputRequest {
  return inputRequired.elicit({
    message,
    requestedSchema: {
      type: 'object',
      properties: { confirm: { type: 'boolean', title: tick } },
      required: ['confirm'],
    },
  })
}

/** Returns the person's answer to a step, as far as their host says. */
export function answerTo(context: ServerContext, step: Step) {
  const answer = inputResponse(context.mcpReq.inputResponses, step)
  if (answer.kind !== 'elicit') return { action: 'missing', confirmed: false } as const
  return { action: answer.action, confirmed: answer.action === 'accept' && answer.content?.confirm === true }
}

/** Returns the sealed state of a step; undefined if this call was not asked, or something else was. */
export function stateOf(context: ServerContext, of: Fingerprint, step: Step): AskedState | undefined {
  const state = context.mcpReq.requestState<AskedState>()
  return typeof state === 'object' && state !== null && state.step === step && state.of === of() ? state : undefined
}

/** Computed when it is needed: most calls ask nobody. */
export type Fingerprint = () => string

/** An answer counts only while this stays equal: the tool, every argument, and the words that were shown. */
export function fingerprint(tool: string, input: unknown, shown: string): Fingerprint {
  return () => sha256(canonical([tool, input, shown]))
}

/** A value as text, the same for equal values. */
export function canonical(value: unknown): string {
  return JSON.stringify(sorted(value))
}

/** With the keys of objects in one order: a host may send the arguments in another when it answers. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const entries = Object.entries(value).map(([name, inner]) => [name, sorted(inner)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * Waits before each look at what a person does on a page, milliseconds. Together less than the minute that hosts give a
 * request; who takes longer is asked again.
 */
export const waitsMs = [0, 2_000, 3_000, 5_000, 5_000, 10_000, 10_000, 10_000]

/** All of these waits together. */
export const pageWaitMs = waitsMs.reduce((sum, ms) => sum + ms)

/** How often a page is offered for one call. */
export const mostRounds = 3

/** The advice for a model after a person said no. */
export const askNoMore = 'Tell them so. Do not call again unless they ask for it.'

/** Nobody decided, because nobody saw the question: people find it where they are told to look. */
export function notShown(where: string): CallToolResult {
  return failed({
    code: 'confirmation_not_shown',
    detail: 'The host did not show the question to the person, or they closed it unanswered. Nothing was done.',
    next: `Tell them: they can do it ${where}. Do not call again unless they ask for it.`,
  })
}

/** A key for a call that is sealed while a person is asked: whoever sends the answer twice repeats the call. */
export function newKey({ system }: Dependencies): string {
  return `idk_${newSecret(system, 16)}`
}

/** Returns the place where a person decides if the host cannot ask them. */
export function dashboardOf({ people: { publicUrl } }: Dependencies): string {
  return publicUrl === undefined ? 'the dashboard of the payments account' : `the dashboard at ${publicUrl}`
}
