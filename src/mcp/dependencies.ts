import type { RequestId, Resource, Server, ServerContext } from '@modelcontextprotocol/server'
import type { Client, Log } from '../client/client.ts'
import type { Fault, FaultKind } from '../core/faults.ts'
import type { HeldCall, HeldState } from '../core/held-call.ts'
import { type Environment, type OperationDefinition, onlyReads, type Toolset, toolsets } from '../core/operation.ts'
import { type Authority, allows as isAllowed } from '../core/permissions.ts'
import type { System } from '../core/system.ts'
import type { Subscriptions } from './subscriptions.ts'

/** The parts that a connection's server is made of. Each part has a value that does nothing, but for the API. */
export interface McpServerOptions {
  /** The version of this package. */
  version: string
  log: Log
  system: Pick<System, 'randomBytes' | 'sleep' | 'now' | 'elapsed'>
  choice: ToolChoice
  api: Api
  people: People
  repeats: RepeatSettings
  faults: CallFaults
  run: Run
  changes: Changes
  ui: AppViews
}

/** Everything that the requests of one connection are answered with. */
export interface Dependencies extends McpServerOptions {
  choice: OfferedChoice
  server: Server
  subscriptions: Subscriptions
}

/** The operations that are offered as tools. */
export interface ToolChoice {
  environment: Environment
  toolsets: readonly Toolset[]
  /** The role of the credential, if it is known: tools that its policy never allows are not offered. */
  actor: Authority['actorType'] | undefined
  /** Offers no tool that changes anything. */
  readOnly: boolean
  /** Tells what the credential allows besides (the scopes of a token); asked anew for each list and call. */
  allows(operation: Pick<OperationDefinition, 'environments' | 'permission' | 'toolsets'>): boolean
  /** Whether card numbers are answered, or shown to the person only. */
  cardDetails: 'reveal' | 'masked'
}

export interface OfferedChoice extends ToolChoice {
  /** Whether a call may have to wait for a person's decision, which it is then made again with. */
  decides: boolean
}

export function everyTool(environment: Environment): OfferedChoice {
  return {
    environment,
    toolsets,
    actor: undefined,
    readOnly: false,
    allows: () => true,
    cardDetails: 'reveal',
    decides: false,
  }
}

/** The payments API. */
export interface Api {
  /** Gives the client; first asked for when the tools are listed or called. */
  client(): Promise<Pick<Client, 'call'>>
  ways: Ways
}

/** The people who decide about calls, and how they are reached. */
export interface People {
  confirm: ConfirmSettings
  /** Keeps calls that wait for a person whom the host cannot ask; undefined: such a call is refused. */
  decisions: Decisions | undefined
  /** The address of the hosted pages and the dashboard, if it is known. */
  publicUrl: string | undefined
  /** Seals the questions that are under way to the host and back. */
  states: RequestStates
}

const noQuestion = () => Promise.reject(new Error('No question is under way.'))

export const nobody: People = {
  confirm: { mode: 'never', aboveCents: 0 },
  decisions: undefined,
  publicUrl: undefined,
  states: { mint: noQuestion, verify: noQuestion },
}

/** The conversation that the connection's calls belong to. */
export interface Run {
  /** Gives X-Instance-ID of the connection, whose activity is a resource; undefined: that one is not listed. */
  id(): string | undefined
  /** Told what happens in the run without a request to the API. Returns at once. */
  note(note: RunNote): void
}

export const unknownRun: Run = { id: () => undefined, note: () => {} }

/** How the host hears of resources that change. */
export interface Changes {
  /** Calls back with the ids of records that something happened to, whoever did it, from when it resolves. */
  follow(heard: (resourceIds: readonly string[]) => void): Promise<void>
  /** Whether something else tells the host all of it, as where requests have no connection. */
  areToldElsewhere: boolean
}

export const ownChanges: Changes = { follow: async () => {}, areToldElsewhere: false }

/** An entry of a run that only the MCP server knows (docs/console.md#entries). Nothing in it is masked yet. */
export interface RunNote {
  kind: 'call' | 'question' | 'decision' | 'happened'
  outcome: 'asked' | 'agreed' | 'disagreed' | 'refused' | 'failed' | 'unanswered' | 'repeated' | 'happened'
  /** The tool's name. */
  operation: string
  /** The host's own name and version. */
  host?: string | undefined
  /** A name for the happening: only the first note of a name counts. */
  once?: string
  arguments?: Record<string, unknown>
  /** Why it was refused or failed. */
  error?: { code: string; status?: number | undefined; detail: string; next?: string | undefined }
  /** The question to the person, one fact a line. */
  facts?: readonly string[]
  amountCents?: number | undefined
  /** How they were asked, who answered, or another remark. */
  remark?: string
  fault?: FaultKind
  ms?: number
}

/** When a person is asked before a call is carried out. */
interface ConfirmSettings {
  mode: 'always' | 'production' | 'never'
  /** Payments and cards above it ask, cents. */
  aboveCents: number
}

/** A call that was kept for a person, and their decision. */
export interface Held {
  id: string
  call: HeldCall
  state: HeldState
  /** How often it was refused until the person verifies: each try has a key of its own. */
  tries: number
  /** The API's answer to the call; undefined: it was not carried out, as far as is known. */
  answer?: { data: unknown; meta?: Record<string, unknown> | undefined } | undefined
}

export interface Kept {
  id: string
  /** The address of the page that the model may know: nobody can say yes with it alone. */
  url: string
  /** The address that the host opens for its person; no model sees it. */
  address: string
  endsAtMs: number
  /** Whether the same call did not wait before. */
  isNew: boolean
}

/** The calls of one principal that wait for a person's decision on a page. No other principal finds them. */
export interface Decisions {
  /** Whether the page is served by this process, to the person at this machine. */
  readonly isLocal: boolean
  /**
   * Keeps a call, once while it waits. `by` opens the page: the host, or the person, who is shown the link.
   * What cannot be kept or shown to anybody gives a sentence that says why and what helps.
   */
  keep(call: HeldCall, by: 'host' | 'person'): Promise<Kept | { refused: string }>
  find(id: string): Promise<Held | undefined>
  /** Resolves when it may have been decided, after `ms` at the latest. @throws the reason of the signal */
  wait(id: string, ms: number, signal: AbortSignal): Promise<void>
  /** Notes that a try was refused until the person verifies; where another call did before, nothing changes. */
  tryAgain(held: Pick<Held, 'id' | 'tries'>): Promise<void>
  finish(id: string, answer: NonNullable<Held['answer']>): Promise<void>
  /** Runs calls by one decision one after another, so that each sees the outcome of the one before. */
  inTurn<T>(id: string, call: () => Promise<T>): Promise<T>
}

/** Faults that calls of tools meet before they are carried out or after (docs/sandbox.md#faults). */
export interface CallFaults {
  /** The fault that this call of the tool meets, which counts as met; `headers` are those of its request over HTTP. */
  plan(tool: string, headers: Pick<Headers, 'get'> | undefined): Promise<Fault | undefined>
  /** Cuts the connection of a request, which is then never answered; over stdio, which has one for all, it stays silent. */
  cut(id: RequestId): void
}

export const noFaults: CallFaults = { plan: async () => undefined, cut: () => {} }

/** How a repeated call is kept from paying twice: for how long, among which calls, and where calls are remembered. */
export interface RepeatSettings {
  /** In real time; 0: nothing is remembered. */
  windowMs: number
  /** The run that the connection's calls belong to; undefined: it is not known, so all of the credential's count. */
  run: string | undefined
  /** Opened for the first call that is to be remembered. */
  memory: () => Promise<CallMemory>
}

export const nothingRemembered: RepeatSettings = {
  windowMs: 0,
  run: undefined,
  memory: () => Promise.reject(new Error('Bug: nothing is remembered, and it was looked up.')),
}

/**
 * The calls of one credential that were sent, for every process that it is used in. No argument is kept, and an answer,
 * sealed, only of an operation whose API knows no key.
 */
export interface CallMemory {
  /** Keeps answers beside, in this process only; undefined: they may be kept with the call. */
  answers?: Map<string, string>
  /** The secret from which the names and seals of this credential's calls are derived. */
  secret: string
  /** The call of that name, if it was sent within the window. */
  find(id: string, windowMs: number): Promise<KeptCall | undefined>
  /** Keeps a call, unless an equal one was sent within the window (0: whatever was); gives back that of the two which counts. */
  claim(id: string, sealed: string, windowMs: number): Promise<KeptCall>
  /** Forgets a call, unless another of that name was sent since. */
  forget(id: string, sealed: string): Promise<void>
}

export interface KeptCall {
  sealed: string
  sentAtMs: number
  agoMs: number
}

/** Sentences by which a model tells its person what to do where no call helps. */
export interface Ways {
  /** Nobody is signed in, or the credential is not accepted any more. */
  signIn: string
  /** The API does not answer, or something else does. */
  reach: string
  /** A setting or an address by which these toolsets would be offered. */
  offer(toolsets: readonly Toolset[]): string
}

/** The views that a host may show beside results (MCP Apps). */
interface AppViews {
  /** The `_meta` of a tool; undefined: it has no view. */
  toolMeta(name: string): Record<string, unknown> | undefined
  resources: readonly (Resource & { read(): Promise<string> })[]
}

export const noViews: AppViews = { toolMeta: () => undefined, resources: [] }

/** A question that is not answered yet travels through the host, and comes back unchanged or not at all. */
export interface RequestStates {
  mint(state: unknown, context: ServerContext): Promise<string>
  verify(text: string, context: ServerContext): Promise<unknown>
}

/** The parts of an operation that decide whether it is offered. */
export type Offerable = Pick<OperationDefinition, 'name' | 'environments' | 'permission' | 'effect' | 'toolsets'>

/** Tells whether the connection can get the operation's answer at all, as a tool or otherwise. */
export function mayCall(
  { environment, actor, allows }: Pick<ToolChoice, 'environment' | 'actor' | 'allows'>,
  operation: Offerable,
): boolean {
  return operation.environments.includes(environment) && mayEver(operation, actor) && allows(operation)
}

/** Tells whether the operation is among the chosen tools. */
export function isChosen(
  { toolsets, readOnly }: Pick<ToolChoice, 'toolsets' | 'readOnly'>,
  operation: Offerable,
): boolean {
  return toolsets.some((toolset) => operation.toolsets.includes(toolset)) && (!readOnly || onlyReads(operation))
}

/** Tells whether such a credential can ever be allowed it: the scopes of an API key are not known here. */
function mayEver({ permission }: Offerable, actor: ToolChoice['actor']): boolean {
  return actor === undefined || isAllowed({ actorType: actor, scopes: undefined, grant: null }, permission)
}

/** Tells whether any call asks a person in this environment. */
export function asksPeople({ mode }: ConfirmSettings, environment: Environment): boolean {
  return mode === 'always' || (mode === 'production' && environment === 'production')
}
