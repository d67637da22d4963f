import { ConfigError } from '../config/load.ts'
import { parseTimestamp, type System } from '../core/system.ts'
import { walletName } from './action.ts'
import type { Balance, Start } from './model/state.ts'
import { createReader, type Reader, type ToolAnswer } from './reader.ts'

/** A simulated agent's MCP connection. */
export interface Caller {
  /** Calls a tool. Rejects only if no answer comes. */
  call(tool: string, input: Record<string, unknown>): Promise<ToolAnswer>
  close(): Promise<void>
}

/** A payments service that a simulation tests. */
export interface World {
  /** Connects an agent. @param agent the number of the agent, from 1 */
  connect(agent: number): Promise<Caller>
  /**
   * Returns the instance id (X-Instance-ID) of the agent's requests, so that a fault rule can be limited to these
   * requests. The method is absent if fault rules cannot be set.
   */
  instanceIdOf?(agent: number): string
  /** Closes the world. Close every caller first. */
  close(): Promise<void>
}

export interface Target {
  open(): Promise<World>
  /** Whether each opened world is new, seeded, used by nobody else, and deleted afterwards. */
  isolated: boolean
}

export interface RunOptions {
  target: Target
  system: System
  /**
   * The maximum number of agents that call at the same time. If it is more than 1, the history must be planned so that
   * the answers do not depend on the order of calls (`ordered: false`).
   */
  concurrency: number
  /** The seed of the injected failures; undefined if none are injected. */
  faults: string | undefined
  signal?: AbortSignal | undefined
  /** Called when a stage begins, with the number of steps in the stage. */
  onStage?: ((stage: Stage, steps: number) => void) | undefined
  /** Called during a stage, with the number of steps that are done. */
  onStep?: ((done: number) => void) | undefined
}

/** The slow stages, in order: connecting the agents, making their calls, the final check, shortening the history. */
export type Stage = 'start' | 'calls' | 'final check' | 'shortening'

/** The balances before the first action of a run, and the reader for the answers in the run. */
export interface Situation {
  start: Start
  reader: Reader
}

/** The balances in a new sandbox, in cents. */
export const seededStart: Start = {
  own: { available: 250_000, total: 250_000 },
  customer: { available: 100_000, total: 100_000 },
}

/**
 * Reads the clock, the first customer, and the wallets of the agent's party and of that customer.
 * @throws ConfigError if the world cannot be used for simulation
 */
export async function inspect(caller: Caller, ordered: boolean): Promise<Situation> {
  const { actorType, partyId } = (await read(caller, 'whoami')).attributes ?? {}
  if (actorType !== 'agent') {
    throw new ConfigError(
      `PAYMENTS_KEY (--key) acts as a ${actorType}; simulate needs an agent's key, because only agents issue cards.`,
    )
  }
  const clock = await read(caller, 'get_sandbox_clock')
  const reader = createReader(parseTimestamp(clock.attributes?.now), ordered)
  const customerPartyId = (await readFirst(caller, 'list_customers'))?.id
  const ownWallet = await wallet(caller, {})
  if (ownWallet === undefined)
    throw new ConfigError(
      'The agent has no wallet, so simulate cannot buy anything. Use the key of an agent that may spend from a wallet.',
    )
  const customer = customerPartyId === undefined ? undefined : await wallet(caller, { customerPartyId })
  reader.nameId('own', partyId)
  reader.nameId(walletName('own'), ownWallet.id)
  if (customer !== undefined) reader.nameId(walletName('customer'), customer.id)
  if (customerPartyId !== undefined) reader.nameId('customer', customerPartyId)
  const start = { own: ownWallet.balance, customer: customer?.balance }
  return { start, reader }
}

interface Resource {
  id?: string
  // biome-ignore lint/suspicious/noExplicitAny: the service under test may answer anything.
  attributes?: any
}

async function wallet(caller: Caller, input: Record<string, unknown>) {
  const { data } = await content<{ data?: Resource[] }>(caller, 'list_wallets', input)
  const found = data?.find(({ attributes }) => attributes?.isDefault === true) ?? data?.[0]
  const { available, total } = found?.attributes?.balance ?? {}
  if (found?.id === undefined || typeof available !== 'number' || typeof total !== 'number') return undefined
  return { id: found.id, balance: { available, total } satisfies Balance }
}

async function read(caller: Caller, tool: string): Promise<Resource> {
  return (await content<{ data?: Resource }>(caller, tool, {})).data ?? {}
}

async function readFirst(caller: Caller, tool: string): Promise<Resource | undefined> {
  return (await content<{ data?: Resource[] }>(caller, tool, {})).data?.[0]
}

async function content<T>(caller: Caller, tool: string, input: Record<string, unknown>): Promise<T> {
  const answer = await caller.call(tool, input)
  if (!answer.isError) return answer.content as T
  throw new ConfigError(`The payments API refused ${tool}: ${JSON.stringify(answer.content)}`)
}
