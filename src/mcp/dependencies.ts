import type { RequestId, Resource, Server, ServerContext } from '@modelcontextprotocol/server'
import type { Client, Log } from '../client/client.ts'
import type { Fault, FaultKind } from '../core/faults.ts'
import type { HeldCall, HeldState } from '../core/held-call.ts'
import { type Environment, type OperationDefinition, onlyReads, type Toolset, toolsets } from '../core/operation.ts'
import { type Authority, allows as isAllowed } from '../core/permissions.ts'
import type { System } from '../core/system.ts'
import type { Subscriptions } from './subscriptions.ts'

/** The parts of a connection's server. Each part except the API has a default that does nothing. */
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

/** Everything that the requests of one connection need. */
export interface Dependencies extends McpServerOptions {
  choice: OfferedChoice
  server: Server
  subscriptions: Subscriptions
}

/** The operations that are offered as tools. */
export interface ToolChoice {
  environment: Environment
  toolsets: readonly Toolset[]
  /** The role of the credential, if known: tools that its policy never allows are not offered. */
  actor: Authority['actorType'] | undefined
  /** Whether to offer only tools that change nothing. */
  readOnly: boolean
  /**
   * Returns whether the credential's other limits, such as a token's scopes, allow the operation. Called for every tool
   * list and every call.
   */
  allows(operation: Pick<OperationDefinition, 'environments' | 'permission' | 'toolsets'>): boolean
  /** Whether the model gets card numbers (`reveal`) or only the person sees them (`masked`). */
  cardDetails: 'reveal' | 'masked'
}

export interface OfferedChoice extends ToolChoice {
  /** Whether a call can wait for a person's decision, and then be repeated with the decision's id. */
  offersDecisions: boolean
}

export function everyTool(environment: Environment): OfferedChoice {
  return {
    environment,
    toolsets,
    actor: undefined,
    readOnly: false,
    allows: () => true,
    cardDetails: 'reveal',
    offersDecisions: false,
  }
}

/** The payments API. */
export interface Api {
  /** Returns the client. It is first needed when the host lists or calls tools. */
  client(): Promise<Pick<Client, 'call'>>
  ways: Ways
}

/** The people who decide about calls, and the ways to reach them. */
export interface People {
  confirm: ConfirmSettings
  /** Keeps calls pending when the host cannot ask its person. If undefined, these calls are refused. */
  decisions: Decisions | undefined
  /** The address of the hosted pages and the dashboard, if known. */
  publicUrl: string | undefined
  /** Seals the state of a pending question, which the host receives and sends back with the answer. */
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
  /** Returns the connection's X-Instance-ID. The activity under this id is a resource; if undefined, none is listed. */
  id(): string | undefined
  /** Records events of the run that involve no request to the API. Returns at once. */
  note(note: RunNote): void
}

export const unknownRun: Run = { id: () => undefined, note: () => {} }

/** The source of change notifications for the host. */
export interface Changes {
  /** Calls `onChange` with the ids of records changed by anyone. Once the promise resolves, no change is missed. */
  follow(onChange: (resourceIds: readonly string[]) => void): Promise<void>
  /** Whether another component notifies the host, such as the HTTP endpoint. */
  areAnnouncedElsewhere: boolean
}

export const ownChanges: Changes = { follow: async () => {}, areAnnouncedElsewhere: false }

/** An entry that only the MCP server can add to a run (docs/console.md#entries). Its texts are not masked yet. */
export interface RunNote {
  kind: 'call' | 'question' | 'decision' | 'happened'
  outcome: 'asked' | 'agreed' | 'disagreed' | 'refused' | 'failed' | 'unanswered' | 'repeated' | 'happened'
  /** The tool's name. */
  operation: string
  /** The host's own name and version. */
  host?: string | undefined
  /** The id of the tool call that this note belongs to. */
  toolCall?: string
  /** A name for the event: only the first note with a given name is recorded. */
  once?: string
  arguments?: Record<string, unknown>
  /** The reason for a refusal or failure. */
  error?: { code: string; status?: number | undefined; detail: string; next?: string | undefined }
  /** The question to the person, one fact per line. */
  facts?: readonly string[]
  amountCents?: number | undefined
  /** How the person was asked, who answered, or another remark. */
  remark?: string
  fault?: FaultKind
  ms?: number
}

/** The settings that decide whether a person is asked before a call is carried out. */
interface ConfirmSettings {
  mode: 'always' | 'production' | 'never'
  /** The amount in cents above which payments and cards need a person's decision. */
  aboveCents: number
}

/** A call that was kept until a person decides, and the person's decision. */
export interface Held {
  id: string
  call: HeldCall
  state: HeldState
  /** How often the call was refused because the person must verify first. Each try has its own key. */
  tries: number
  /** The API's answer to the call; undefined if the call is not known to have been carried out. */
  answer?: { data: unknown; meta?: Record<string, unknown> | undefined } | undefined
}

export interface PendingPage {
  id: string
  /** The page's address for the model. This address alone does not allow anyone to approve the call. */
  url: string
  /** The address that the host opens for its person; the model never sees it. */
  address: string
  endsAtMs: number
  /** False if the same call was already pending. */
  isNew: boolean
}

/** The pending calls of one principal, which a person decides on a page. Other principals cannot find them. */
export interface Decisions {
  /** Whether the page is served by this process, to the person at this machine. */
  readonly isLocal: boolean
  /**
   * Stores a call until the person decides. The same call is stored only once. `by` is who opens the page: the host, or
   * the person through a link. If the call cannot be stored or shown, returns a text with the reason and the remedy.
   */
  keep(call: HeldCall, by: 'host' | 'person'): Promise<PendingPage | { refused: string }>
  find(id: string): Promise<Held | undefined>
  /** Resolves when the person may have decided, or after `ms` at the latest. @throws the reason of the signal */
  wait(id: string, ms: number, signal: AbortSignal): Promise<void>
  /** Records that a try was refused because the person must verify first. Does nothing if that is already recorded. */
  countTry(held: Pick<Held, 'id' | 'tries'>): Promise<void>
  finish(id: string, answer: NonNullable<Held['answer']>): Promise<void>
  /** Runs calls that share a decision in sequence, so that each sees the outcome of the previous one. */
  inTurn<T>(id: string, call: () => Promise<T>): Promise<T>
}

/** Faults that are injected before or after a tool call is carried out (docs/sandbox.md#faults). */
export interface CallFaults {
  /**
   * Chooses the fault of this tool call, and counts the call for the rules that match it. `headers` are the HTTP
   * request's headers.
   */
  plan(tool: string, headers: Pick<Headers, 'get'> | undefined): Promise<Fault | undefined>
  /** Cuts a request's connection, so that it never gets an answer. Over stdio, the shared connection stays open. */
  cut(id: RequestId): void
}

export const noFaults: CallFaults = { plan: async () => undefined, cut: () => {} }

/** The settings that keep a repeated call from paying twice. */
export interface RepeatSettings {
  /** How long a call is remembered, in real time; 0 means that nothing is remembered. */
  windowMs: number
  /** The run whose calls are compared; if undefined, all of the credential's calls are compared. */
  run: string | undefined
  /** Opens the memory. Called when a call first has to be remembered. */
  memory: () => Promise<CallMemory>
}

export const nothingRemembered: RepeatSettings = {
  windowMs: 0,
  run: undefined,
  memory: () => Promise.reject(new Error('Bug: nothing is remembered, but the memory was opened.')),
}

/**
 * The calls sent with one credential, shared by all processes that use it. No arguments are stored. An answer is
 * stored, sealed, only if the API takes no idempotency key for the operation.
 */
export interface CallMemory {
  /** The answers, if they are kept in this process; if undefined, each is stored with its call. */
  answers?: Map<string, string>
  /** The secret that the ids and seals of this credential's calls are derived from. */
  secret: string
  /** Returns the call with that id, if it was sent within the window. */
  find(id: string, windowMs: number): Promise<KeptCall | undefined>
  /**
   * Stores a call unless an equal one was sent within the window; with a window of 0, always stores it. Returns the
   * stored call, earlier or new.
   */
  claim(id: string, sealed: string, windowMs: number): Promise<KeptCall>
  /** Deletes a call, unless another call with that id was sent since. */
  forget(id: string, sealed: string): Promise<void>
}

export interface KeptCall {
  sealed: string
  sentAtMs: number
  agoMs: number
}

/** Advice that a model passes on to its person if no call helps. */
export interface Ways {
  /** Advice for a missing or refused credential. */
  signIn: string
  /** Advice for when the API does not answer, or something else answers in its place. */
  reach: string
  /** Returns a setting or an address that would offer these toolsets. */
  offer(toolsets: readonly Toolset[]): string
}

/** The views that a host may show next to results (MCP Apps). */
interface AppViews {
  /** Returns the `_meta` of a tool; undefined if it has no view. */
  toolMeta(name: string): Record<string, unknown> | undefined
  resources: readonly (Resource & { read(): Promise<string> })[]
}

export const noViews: AppViews = { toolMeta: () => undefined, resources: [] }

/** Seals pending questions, so that a host cannot change a question before it returns it. */
export interface RequestStates {
  mint(state: unknown, context: ServerContext): Promise<string>
  verify(text: string, context: ServerContext): Promise<unknown>
}

/** The parts of an operation that decide whether it is offered. */
export type Offerable = Pick<OperationDefinition, 'name' | 'environments' | 'permission' | 'effect' | 'toolsets'>

/** Returns whether the connection may call the operation, as a tool or otherwise. */
export function mayCall(
  { environment, actor, allows }: Pick<ToolChoice, 'environment' | 'actor' | 'allows'>,
  operation: Offerable,
): boolean {
  return operation.environments.includes(environment) && mayEver(operation, actor) && allows(operation)
}

/** Returns whether the operation is among the chosen tools. */
export function isChosen(
  { toolsets, readOnly }: Pick<ToolChoice, 'toolsets' | 'readOnly'>,
  operation: Offerable,
): boolean {
  return toolsets.some((toolset) => operation.toolsets.includes(toolset)) && (!readOnly || onlyReads(operation))
}

/**
 * Returns whether a credential of this role can ever have the permission. The scopes of an API key are unknown here.
 */
function mayEver({ permission }: Offerable, actor: ToolChoice['actor']): boolean {
  return actor === undefined || isAllowed({ actorType: actor, scopes: undefined, grant: null }, permission)
}

/** Returns whether any call asks a person in this environment. */
export function asksPeople({ mode }: ConfirmSettings, environment: Environment): boolean {
  return mode === 'always' || (mode === 'production' && environment === 'production')
}
