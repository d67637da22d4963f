import type { RequestId, Resource, Server, ServerContext } from '@modelcontextprotocol/server'
import type { Client, Log } from '../client/client.ts'
import type { Fault, FaultKind } from '../core/faults.ts'
import type { HeldCall, HeldState } from '../core/held-call.ts'
import { type Environment, type OperationDefinition, onlyReads, type Toolset } from '../core/operation.ts'
import { type Authority, allows as isAllowed } from '../core/permissions.ts'
import type { System } from '../core/system.ts'

/** Which operations are offered as tools, and how. */
export interface ToolChoice {
  environment: Environment
  /** All of them when it is left out. */
  toolsets?: readonly Toolset[] | undefined
  /** Whom the credential acts as, where that is known: tools that its policy never allows are not offered. */
  actor?: Authority['actorType'] | undefined
  /** Offers no tool that changes anything. */
  readOnly?: boolean | undefined
  /** What the credential allows besides (the scopes of a token); asked anew for each list and call. */
  allows?: ((operation: Pick<OperationDefinition, 'environments' | 'permission' | 'toolsets'>) => boolean) | undefined
  /** Whether card numbers are answered, or shown to the person only. */
  cardDetails: 'reveal' | 'masked'
  /** Whether a call may have to wait for a person's decision, which it is then made again with. */
  decides?: boolean | undefined
}

export interface McpServerOptions extends ToolChoice {
  /** Gives the client; first asked for when the tools are listed or called. */
  client: () => Promise<Pick<Client, 'call'>>
  /** The version of this package. */
  version: string
  log: Log
  /** Gives X-Instance-ID of this connection, whose activity is a resource; undefined: that one is not listed. */
  instanceId?: (() => string) | undefined
  confirm: ConfirmSettings
  /** Keeps calls that wait for a person whom the host cannot ask; undefined: such a call is refused. */
  decisions?: Decisions | undefined
  /** What keeps a repeated call from paying twice; undefined: nothing does. */
  repeats?: RepeatSettings | undefined
  /** What goes wrong with calls on purpose; undefined: nothing does. */
  faults?: CallFaults | undefined
  /** Where people find the hosted pages and the dashboard; undefined: not known. */
  publicUrl?: string | undefined
  /**
   * Seals what was asked of a person while the answer is under way: 32 characters or more, the same in every process
   * that may get the answer; the newest first. Undefined: a random one of this connection.
   */
  stateSecrets?: (() => Promise<readonly string[]>) | undefined
  /** The key or grant that the connection belongs to: what one was asked, no other can answer. */
  principal?: string | undefined
  /**
   * Calls back with the ids of records that something happened to, whoever did it, from when it resolves; undefined: the
   * host hears of its own calls only.
   */
  follow?: ((heard: (resourceIds: readonly string[]) => void) => Promise<void>) | undefined
  /** Told of changed resources instead of the connection's own host, where requests have no connection. */
  notify?: { resourceUpdated(uri: string): void } | undefined
  /** The views that a host may show beside results (MCP Apps). */
  ui?: AppViews | undefined
  /** How people change what this connection is; undefined: in words that fit any. */
  ways?: Ways | undefined
  /** Told what happens in the run without a request to the API; undefined: nobody keeps it. Returns at once. */
  note?: ((note: RunNote) => void) | undefined
  system?: Pick<System, 'randomBytes' | 'sleep' | 'now' | 'elapsed'>
}

/** What only the MCP server knows of a run (docs/console.md#entries). Nothing in it is masked yet. */
export interface RunNote {
  kind: 'call' | 'question' | 'decision' | 'happened'
  outcome: 'asked' | 'agreed' | 'disagreed' | 'refused' | 'failed' | 'unanswered' | 'repeated' | 'happened'
  /** The tool's name. */
  operation: string
  /** What the host calls itself. */
  host?: string | undefined
  /** Names what it tells of: of several notes with one name the first counts. */
  once?: string
  arguments?: Record<string, unknown>
  /** Why it was refused or failed. */
  error?: { code: string; status?: number | undefined; detail: string; next?: string | undefined }
  /** What a person was asked, one fact a line. */
  facts?: readonly string[]
  amountCents?: number | undefined
  /** How they were asked, who answered, or what else there is to say. */
  remark?: string
  fault?: FaultKind
  ms?: number
}

/** When a person is asked before a call is carried out. */
export interface ConfirmSettings {
  mode: 'always' | 'production' | 'never'
  /** Payments and cards above it ask, cents. */
  aboveCents: number
}

/** What came of a call that was kept. */
export interface Held {
  id: string
  call: HeldCall
  state: HeldState
  /** How often it was refused for want of a second factor: each try has a key of its own. */
  tries: number
  /** What the API answered when it was carried out; undefined: it was not, as far as is known. */
  answer?: { data: unknown; meta?: Record<string, unknown> | undefined } | undefined
}

export interface Kept {
  id: string
  /** The page, as the model may know it: whoever has no more than that cannot say yes. */
  url: string
  /** The page, as the host opens it for its person; no model sees it. */
  address: string
  endsAtMs: number
  /** Whether the same call did not wait before. */
  isNew: boolean
}

/** Calls that wait for a person's decision on a page. They are those of one principal: no other finds them. */
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

/** How long, among which calls and where it is known that an equal one was sent. */
export interface RepeatSettings {
  /** It is real time; 0: nothing is remembered. */
  windowMs: number
  /** The run that the connection's calls belong to; undefined: it is not known, so all of the credential's count. */
  run: string | undefined
  /** Opened for the first call that is to be remembered. */
  memory: () => Promise<CallMemory>
}

/**
 * The calls of one credential that were sent, for every process that it is used in. No argument is kept, and an answer,
 * sealed, only of an operation whose API knows no key.
 */
export interface CallMemory {
  /** Keeps answers beside, in this process only; undefined: they may be kept with the call. */
  answers?: Map<string, string>
  /** What names and seals of this credential are made with. */
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

interface AppViews {
  /** The `_meta` of a tool; undefined: it has no view. */
  toolMeta(name: string): Record<string, unknown> | undefined
  resources: readonly (Resource & { read(): Promise<string> })[]
}

/** No address of a resource that can be read is longer. */
export const longestAddress = 4_096

/** Everything that the requests of one connection are answered with. */
export interface Dependencies extends McpServerOptions {
  server: Server
  system: Pick<System, 'randomBytes' | 'sleep' | 'now' | 'elapsed'>
  ways: Ways
  seal: RequestStates
  /** The resources that the host wants to hear of; undefined: none so far. */
  subscribed: Set<string> | undefined
  /** Whether the host is told of what others do. */
  hearsOthers: boolean
}

/** A question that is not answered yet travels through the host, and comes back unchanged or not at all. */
export interface RequestStates {
  mint(state: unknown, context: ServerContext): Promise<string>
  verify(text: string, context: ServerContext): Promise<unknown>
}

/** The parts of an operation that decide whether it is offered. */
export type Offerable = Pick<OperationDefinition, 'name' | 'environments' | 'permission' | 'effect' | 'toolsets'>

/** Whether the connection can get the operation's answer at all, as a tool or otherwise. */
export function mayCall(
  { environment, actor, allows }: Pick<ToolChoice, 'environment' | 'actor' | 'allows'>,
  operation: Offerable,
): boolean {
  return operation.environments.includes(environment) && mayEver(operation, actor) && (allows?.(operation) ?? true)
}

/** Whether it is among the tools that were asked for. */
export function isChosen(
  { toolsets, readOnly }: Pick<ToolChoice, 'toolsets' | 'readOnly'>,
  operation: Offerable,
): boolean {
  return (
    (toolsets?.some((toolset) => operation.toolsets.includes(toolset)) ?? true) &&
    (readOnly !== true || onlyReads(operation))
  )
}

/** Whether such a credential can ever be allowed it: which scopes an API key has is not known here. */
function mayEver({ permission }: Offerable, actor: ToolChoice['actor']): boolean {
  return actor === undefined || isAllowed({ actorType: actor, scopes: undefined, grant: null }, permission)
}

/** Whether anything asks a person in this environment. */
export function asksPeople({ mode }: ConfirmSettings, environment: Environment): boolean {
  return mode === 'always' || (mode === 'production' && environment === 'production')
}
