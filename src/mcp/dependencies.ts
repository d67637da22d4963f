import type { RequestId, Resource, Server, ServerContext } from '@modelcontextprotocol/server'
import type { Client, Log } from '../client/client.ts'
import type { Fault, FaultKind } from '../core/faults.ts'
import type { HeldCall, HeldState } from '../core/held-call.ts'
import { type Environment, type OperationDefinition, onlyReads, type Toolset, toolsets } from '../core/operation.ts'
import { type Authority, allows as isAllowed } from '../core/permissions.ts'
import type { System } from '../core/system.ts'
import type { Subscriptions } from './subscriptions.ts'

/** The options of the MCP server for one connection. */
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

/** The settings that select the operations to offer as tools. */
export interface ToolChoice {
  environment: Environment
  toolsets: readonly Toolset[]
  /** The role of the credential, if known. Tools that no credential of this role may use are not offered. */
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
  /** Whether a call can be stored until a person decides. The model then repeats the call with the decision's id. */
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
  /** Returns the client. An implementation can create it on first use. */
  client(): Promise<Pick<Client, 'call'>>
  personAdvice: PersonAdvice
}

/** The settings and services for asking people to decide on calls. */
export interface People {
  confirm: ConfirmSettings
  /** Stores the calls that the host cannot ask a person about. If undefined, those calls are refused. */
  decisions: Decisions | undefined
  /** The address of the hosted pages and the dashboard, if known. */
  publicUrl: string | undefined
  /** Seals the state of a pending question. The host receives the sealed state, and sends it back with the answer. */
  states: RequestStates
}

const noQuestion = () => Promise.reject(new Error('Bug: no question is pending.'))

export const noPeople: People = {
  confirm: { mode: 'never', aboveCents: 0 },
  decisions: undefined,
  publicUrl: undefined,
  states: { mint: noQuestion, verify: noQuestion },
}

/** The run that the connection's calls belong to. A run consists of a party's calls with the same `X-Instance-ID`. */
export interface Run {
  /** Returns the run's id (X-Instance-ID). If the id is undefined, the run's activity is not listed as a resource. */
  id(): string | undefined
  /** Records an event that involves no request to the API. Returns without waiting until the event is stored. */
  note(note: RunNote): void
}

export const unknownRun: Run = { id: () => undefined, note: () => {} }

/** The source of change notifications for the host. */
export interface Changes {
  /** Calls `onChange` with the ids of records that anyone changes. After the promise resolves, no change is missed. */
  follow(onChange: (resourceIds: readonly string[]) => void): Promise<void>
  /** Whether another component, such as the HTTP endpoint, notifies the host of changes. */
  areAnnouncedElsewhere: boolean
}

/** Limits notifications to the changes that the connection's own calls make. */
export const ownChanges: Changes = { follow: async () => {}, areAnnouncedElsewhere: false }

/** An entry that only the MCP server can add to a run (docs/console.md#entries). Secrets in it are not masked yet. */
export interface RunNote {
  kind: 'call' | 'question' | 'decision' | 'happened'
  outcome: 'asked' | 'agreed' | 'disagreed' | 'refused' | 'failed' | 'unanswered' | 'repeated' | 'happened'
  /** The tool's name. */
  operation: string
  /** The host's self-reported name and version. */
  host?: string | undefined
  /** The id of the tool call that this note belongs to. */
  toolCall?: string
  /** A unique name for the event. If several notes have the same name, only the first is recorded. */
  once?: string
  arguments?: Record<string, unknown>
  /** The reason for a refusal or failure. */
  error?: { code: string; status?: number | undefined; detail: string; next?: string | undefined }
  /** The lines of the question to the person. Each line states one fact. */
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

/** A call that is stored until a person decides, with the state of the decision. */
export interface Held {
  id: string
  call: HeldCall
  state: HeldState
  /** How often the call was refused because it required a second factor. Each retry has its own idempotency key. */
  tries: number
  /** The API's answer to the call; undefined until an answer is recorded. */
  answer?: { data: unknown; meta?: Record<string, unknown> | undefined } | undefined
}

/** The page on which a person decides on a stored call. */
export interface PendingPage {
  id: string
  /** The page's address as the model gets it. Knowing this address does not suffice to approve the call. */
  url: string
  /** The address that the host opens for the person. It may contain a ticket, which the model must not see. */
  address: string
  endsAtMs: number
  /** False if the same call was already pending. */
  isNew: boolean
}

/** The calls of one principal that wait for a person's decision on a page. Other principals cannot find them. */
export interface Decisions {
  /** Whether this process itself serves the page, to a person at this machine. */
  readonly isLocal: boolean
  /**
   * Stores a call until the person decides, unless the same call is already pending. `by` says who opens the page: the
   * host, or the person without the host. If the call cannot be stored or shown, `refused` gives the reason and remedy.
   */
  keep(call: HeldCall, by: 'host' | 'person'): Promise<PendingPage | { refused: string }>
  find(id: string): Promise<Held | undefined>
  /** Resolves when the person may have decided, or after `ms` milliseconds. Rejects if the signal aborts. */
  wait(id: string, ms: number, signal: AbortSignal): Promise<void>
  /** Counts a try that was refused because it required a second factor, unless this try is already counted. */
  countTry(held: Pick<Held, 'id' | 'tries'>): Promise<void>
  finish(id: string, answer: NonNullable<Held['answer']>): Promise<void>
  /** Runs a call after all earlier calls with the same decision have finished, so that it sees their outcomes. */
  inTurn<T>(id: string, call: () => Promise<T>): Promise<T>
}

/** Faults that are injected before or after a tool call is carried out (docs/sandbox.md#faults). */
export interface CallFaults {
  /**
   * Chooses the fault for a call of this tool, and counts the call for the rules that match it. `headers` are those of
   * the HTTP request.
   */
  plan(tool: string, headers: Pick<Headers, 'get'> | undefined): Promise<Fault | undefined>
  /** Cuts a request's connection before the request is answered. Over stdio, only suppresses the answer. */
  cut(id: RequestId): void
}

export const noFaults: CallFaults = { plan: async () => undefined, cut: () => {} }

/** The settings that keep a repeated call from paying twice. */
export interface RepeatSettings {
  /** How long a call is remembered, by the real clock; 0 means that nothing is remembered. */
  windowMs: number
  /** The run whose calls are compared with a new call. If undefined, all of the credential's calls are compared. */
  run: string | undefined
  /** Returns the memory. An implementation can open it on first use. */
  memory: () => Promise<CallMemory>
}

export const nothingRemembered: RepeatSettings = {
  windowMs: 0,
  run: undefined,
  memory: () => Promise.reject(new Error('Bug: nothing is remembered, but the memory was opened.')),
}

/**
 * The memory of the calls sent with one credential. All processes that use the credential share this memory. Arguments
 * are not stored. An answer is stored, sealed, only if the API takes no idempotency key for the operation.
 */
export interface CallMemory {
  /** The answers, if each process keeps its own in memory. If undefined, each answer is stored with its call. */
  answers?: Map<string, string>
  /** The secret that the ids and seals of this credential's calls are derived from. */
  secret: string
  /** Returns the call with the given id if it was sent within the last `windowMs` milliseconds. */
  find(id: string, windowMs: number): Promise<KeptCall | undefined>
  /**
   * Stores a call, unless a call with the same id was sent within the last `windowMs` milliseconds. If `windowMs` is 0,
   * always stores the new call. Returns the stored call: the new one or the earlier one.
   */
  claim(id: string, sealed: string, windowMs: number): Promise<KeptCall>
  /** Deletes a call, unless a newer call with the same id has replaced it. */
  forget(id: string, sealed: string): Promise<void>
}

export interface KeptCall {
  sealed: string
  sentAtMs: number
  agoMs: number
}

/** Advice for the person, which the model passes on if the model itself can do nothing more. */
export interface PersonAdvice {
  /** Advice for a missing or refused credential. */
  signIn: string
  /** Advice for when the API does not answer, or a different server answers at the API's address. */
  reach: string
  /** Returns the setting or the address that would make the server offer these toolsets. */
  offer(toolsets: readonly Toolset[]): string
}

/** The views that a host may show next to results (MCP Apps). */
interface AppViews {
  /** Returns the `_meta` of a tool; undefined if the tool has no view. */
  toolMeta(name: string): Record<string, unknown> | undefined
  resources: readonly (Resource & { read(): Promise<string> })[]
}

export const noViews: AppViews = { toolMeta: () => undefined, resources: [] }

/** A codec that seals pending questions, so that a host cannot change a question before it sends the answer. */
export interface RequestStates {
  mint(state: unknown, context: ServerContext): Promise<string>
  verify(text: string, context: ServerContext): Promise<unknown>
}

/** The properties of an operation that determine whether it is offered. */
export type Offerable = Pick<OperationDefinition, 'name' | 'environments' | 'permission' | 'effect' | 'toolsets'>

/** Returns whether the connection may call the operation, through a tool or in another way, such as a resource. */
export function mayCall(
  { environment, actor, allows }: Pick<ToolChoice, 'environment' | 'actor' | 'allows'>,
  operation: Offerable,
): boolean {
  return operation.environments.includes(environment) && mayEver(operation, actor) && allows(operation)
}

/** Returns whether the operation is in one of the chosen toolsets and, if `readOnly` is true, changes nothing. */
export function isChosen(
  { toolsets, readOnly }: Pick<ToolChoice, 'toolsets' | 'readOnly'>,
  operation: Offerable,
): boolean {
  return toolsets.some((toolset) => operation.toolsets.includes(toolset)) && (!readOnly || onlyReads(operation))
}

/** Returns whether any credential of this role could have the permission. Does not know the credential's scopes. */
function mayEver({ permission }: Offerable, actor: ToolChoice['actor']): boolean {
  return actor === undefined || isAllowed({ actorType: actor, scopes: undefined, grant: null }, permission)
}

/** Returns whether some calls need a person's decision in this environment. */
export function asksPeople({ mode }: ConfirmSettings, environment: Environment): boolean {
  return mode === 'always' || (mode === 'production' && environment === 'production')
}
