import type { Environment } from '../../core/operation.ts'
import { lastMomentMs, newId, parseTimestamp, type System, timestamp } from '../../core/system.ts'
import { refuseWorld } from '../../worlds/invalid-world.ts'
import { Names, type Placed, type Recipient } from '../../worlds/names.ts'
import type { World } from '../../worlds/schema.ts'
import type { WorldParty } from '../../worlds/shape.ts'
import { momentMs } from '../../worlds/world-times.ts'
import type { Posting } from '../rules/ledger.ts'
import type { Transaction } from '../store/engine/store.ts'
import { postBetween } from '../store/ledger.ts'
import type { RootKeys } from '../store/root-keys.ts'
import type { WalletRow } from '../store/schema/wallets.ts'
import { newWallet } from '../store/wallets.ts'
import { History, type Path } from './history.ts'
import type { PasswordHashes } from './passwords.ts'

type FileWallet = NonNullable<WorldParty['wallets']>[number]

interface Context {
  tx: Transaction
  system: System
  environment: Environment
  keys: RootKeys
  world: World
  passwords: PasswordHashes
  /** The service's time at which the world begins. */
  clockMs: number
}

/** A party in the world, with the ids of its records in file order. */
export interface Account {
  party: WorldParty
  id: string
  /** The wallets as they are during the history: active and empty. */
  wallets: readonly WalletRow[]
  agentIds: readonly string[]
  userIds: readonly string[]
}

const dayMs = 24 * 60 * 60 * 1000

/** A world being written to the database: its parties and their history. */
export class WorldBuilder {
  readonly context: Context
  readonly names: Names
  readonly history = new History()
  readonly accounts: readonly Account[]
  /**
   * The time at which the parties were created: a day before the earliest time in the file. If the file has no past
   * time, it is the beginning of the world.
   */
  readonly defaultCreatedAtMs: number
  readonly #idsAt = new Map<string, number>()

  constructor(context: Context) {
    const { world, clockMs } = context
    this.context = context
    this.names = new Names(world)
    requireDate(clockMs, ['clock'])
    const firstMs = momentsIn(world.parties, ['parties']).reduce((earliestMs, { text, path }) => {
      return Math.min(earliestMs, requireDate(momentMs(text, clockMs), path))
    }, Number.POSITIVE_INFINITY)
    this.defaultCreatedAtMs = firstMs < clockMs ? firstMs - dayMs : clockMs
    this.accounts = world.parties.map((party, index) => this.#account(party, index))
  }

  #account(party: WorldParty, index: number): Account {
    const id = this.id('pty', party.id)
    const chosen = this.names.defaultWallet(index)
    const wallets = (party.wallets ?? [{}]).map((wallet: Partial<FileWallet>, at): WalletRow => {
      const { displayName = at === chosen ? 'Main wallet' : (wallet.ref ?? null), description = null } = wallet
      const { walletType = 'standard', tags = {}, createdAt } = wallet
      return {
        ...newWallet,
        id: this.id('wal', wallet.id),
        partyId: id,
        displayName,
        description,
        walletType,
        tags: JSON.stringify(tags),
        isDefault: at === chosen ? 1 : 0,
        createdAtMs: this.past(createdAt, this.defaultCreatedAtMs, ['parties', index, 'wallets', at, 'createdAt']),
      }
    })
    const agentIds = (party.agents ?? []).map((agent) => this.id('agt', agent.id))
    const userIds = (party.users ?? []).map((user) => this.id('usr', user.id))
    return { party, id, wallets, agentIds, userIds }
  }

  /**
   * Returns the id given in the file, or a new one. Records created at the same time get ids that sort in file order.
   */
  id(prefix: string, fixedId: string | undefined, atMs = this.defaultCreatedAtMs): string {
    if (fixedId !== undefined) return fixedId
    const key = `${prefix} ${atMs}`
    const earlier = this.#idsAt.get(key) ?? 0
    this.#idsAt.set(key, earlier + 1)
    return newId(prefix, this.context.system, atMs + earlier)
  }

  /** Returns a time given in the file. It may be in the past or the future. */
  moment(text: string | undefined, otherwiseMs: number): number {
    return text === undefined ? otherwiseMs : momentMs(text, this.context.clockMs)
  }

  /** Returns the time of a past event. It must not be before `sinceMs` or after the beginning of the world. */
  past(text: string | undefined, otherwiseMs: number, path: Path, sinceMs = Number.NEGATIVE_INFINITY): number {
    const { clockMs } = this.context
    const atMs = this.moment(text, otherwiseMs)
    if (atMs > clockMs) refuseWorld(path, `must not be after ${timestamp(clockMs)}, when the world begins`)
    if (atMs < sinceMs) refuseWorld(path, `must not be before ${timestamp(sinceMs)}, got ${timestamp(atMs)}`)
    return atMs
  }

  account(index: number): Account {
    return mustFind(this.accounts[index])
  }

  /** Returns the party's wallet with this name, or the party's default wallet if `name` is undefined. */
  wallet(index: number, name: string | undefined): WalletRow {
    const { party, wallets } = this.account(index)
    const at = name === undefined ? this.names.defaultWallet(index) : this.names.find(party.wallets, name)
    return mustFind(wallets[at ?? 0])
  }

  /** Returns the agent that a record of the party names, and the agent's position in the file. */
  agent(index: number, name: string | undefined): { id: string; placed: Placed<unknown> } | undefined {
    if (name === undefined) return undefined
    const placed = mustFind(this.names.agent(index, name))
    return { id: mustFind(this.account(placed.party).agentIds[placed.at]), placed }
  }

  /**
   * Returns the wallet that one of the party's agents uses to pay and to receive money. If the agent has no wallet,
   * returns the party's default wallet.
   */
  agentWallet(index: number, at: number): WalletRow {
    const attached = this.account(index).party.agents?.[at]?.wallets ?? []
    const chosen = attached.find(({ isDefault }) => isDefault === true) ?? attached[0]
    return this.wallet(index, chosen?.wallet)
  }

  /**
   * Returns the wallet that a record names. If it names none, returns the wallet that the record's agent pays from. If
   * that agent belongs to another party, or there is none, returns the party's default wallet.
   */
  payingWallet(index: number, name: string | undefined, agentName: string | undefined): WalletRow {
    const agent = this.agent(index, agentName)
    if (name !== undefined || agent?.placed.party !== index) return this.wallet(index, name)
    return this.agentWallet(index, agent.placed.at)
  }

  /** Returns the recipient of a payment and the recipient's wallet; null for a recipient outside the world. */
  receiver(recipient: Recipient): { partyId: string; agentId: string | null; wallet: WalletRow } | null {
    if (recipient.kind !== 'party') return null
    const { agent, party } = recipient
    const { id, agentIds } = this.account(party)
    if (agent === null) return { partyId: id, agentId: null, wallet: this.wallet(party, undefined) }
    return { partyId: id, agentId: mustFind(agentIds[agent.at]), wallet: this.agentWallet(party, agent.at) }
  }

  userId(index: number, name: string | undefined): string | null {
    const { party, userIds } = this.account(index)
    return name === undefined ? null : mustFind(userIds[mustFind(this.names.find(party.users, name))])
  }

  /** Enters a posting that changes these wallets' balances. */
  async post(posting: Posting, wallets: readonly WalletRow[], nowMs: number, sourceId: string | null): Promise<void> {
    const { tx, system } = this.context
    await postBetween(tx, system, wallets, [{ posting, nowMs, sourceId }])
  }
}

/** Returns the value. It exists because the file has been checked. */
export function mustFind<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new Error('Bug: a world refers to a record that it does not contain.')
  return thing
}

function momentsIn(value: unknown, path: Path): { text: string; path: Path }[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const at = [...path, Array.isArray(value) ? Number(name) : name]
    return typeof inner === 'string' && /^at$|At$/.test(name) ? [{ text: inner, path: at }] : momentsIn(inner, at)
  })
}

/**
 * The earliest time that a file may contain. It is a year after the earliest time that an id can encode, because
 * records are created before the first event.
 */
const firstMomentMs = parseTimestamp('1971-01-01T00:00:00Z')

/** Checks that ids, clocks and RFC 3339 can express the year, with a margin on both sides. */
function requireDate(ms: number, path: Path): number {
  if (ms >= firstMomentMs && ms <= lastMomentMs) return ms
  return refuseWorld(path, 'must be in the years 1971 to 9995')
}
