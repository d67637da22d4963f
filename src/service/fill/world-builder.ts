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
  /** The time on the sandbox clock when the world begins. */
  clockMs: number
}

/** A party of the world, with its wallets and the ids of its agents and users, all in the order of the file. */
export interface Account {
  party: WorldParty
  id: string
  /** The wallets as they are before the history is applied: active and empty. */
  wallets: readonly WalletRow[]
  agentIds: readonly string[]
  userIds: readonly string[]
}

const dayMs = 24 * 60 * 60 * 1000

/** A world that is being written to the database: its parties and their history. */
export class WorldBuilder {
  readonly context: Context
  readonly names: Names
  readonly history = new History()
  readonly accounts: readonly Account[]
  /**
   * The creation time of parties and other records whose time the file omits: a day before the earliest time in the
   * file. If the file contains no past time, the creation time is the time when the world begins.
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
   * Returns the id that the file gives a record, or a new id if the file gives none. New ids with the same prefix and
   * time sort in the order of the file.
   */
  id(prefix: string, fixedId: string | undefined, atMs = this.defaultCreatedAtMs): string {
    if (fixedId !== undefined) return fixedId
    const key = `${prefix} ${atMs}`
    const earlier = this.#idsAt.get(key) ?? 0
    this.#idsAt.set(key, earlier + 1)
    return newId(prefix, this.context.system, atMs + earlier)
  }

  /** Returns the time that a string in the file stands for. The time may be in the past or the future. */
  moment(text: string | undefined, otherwiseMs: number): number {
    return text === undefined ? otherwiseMs : momentMs(text, this.context.clockMs)
  }

  /** Returns the time of a past event. Refuses a time before `sinceMs` or after the beginning of the world. */
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

  /** Finds the agent that a record of the party names. `placed` is the agent's position in the file. */
  agent(index: number, name: string | undefined): { id: string; placed: Placed<unknown> } | undefined {
    if (name === undefined) return undefined
    const placed = mustFind(this.names.agent(index, name))
    return { id: mustFind(this.account(placed.party).agentIds[placed.at]), placed }
  }

  /**
   * Returns the wallet that one of the party's agents uses to pay and to receive money. If the file gives the agent no
   * wallet, returns the party's default wallet.
   */
  agentWallet(index: number, at: number): WalletRow {
    const attached = this.account(index).party.agents?.[at]?.wallets ?? []
    const chosen = attached.find(({ isDefault }) => isDefault === true) ?? attached[0]
    return this.wallet(index, chosen?.wallet)
  }

  /**
   * Returns the party's wallet with the given name. If no name is given and the agent belongs to the party, returns the
   * wallet from which the agent pays. If there is no such agent either, returns the party's default wallet.
   */
  payingWallet(index: number, name: string | undefined, agentName: string | undefined): WalletRow {
    const agent = this.agent(index, agentName)
    if (name !== undefined || agent?.placed.party !== index) return this.wallet(index, name)
    return this.agentWallet(index, agent.placed.at)
  }

  /** Returns the ids and the wallet of a payment's recipient; null if the recipient is not a party of the world. */
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

  /** Writes a posting to the ledger. `wallets` are the wallets whose balances the posting changes. */
  async post(posting: Posting, wallets: readonly WalletRow[], nowMs: number, sourceId: string | null): Promise<void> {
    const { tx, system } = this.context
    await postBetween(tx, system, wallets, [{ posting, nowMs, sourceId }])
  }
}

/** Returns the given value. An undefined value is a bug, because all references in the file have been validated. */
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
 * The earliest time that a file may contain. Ids can encode times from 1970 on. The year 1970 stays free for
 * `defaultCreatedAtMs`, which can be earlier than all times in the file.
 */
const firstMomentMs = parseTimestamp('1971-01-01T00:00:00Z')

/**
 * Requires a time in the years 1971 to 9995. Ids, clocks and RFC 3339 can express all these years, and some years
 * before and after them.
 */
function requireDate(ms: number, path: Path): number {
  if (ms >= firstMomentMs && ms <= lastMomentMs) return ms
  return refuseWorld(path, 'must be in the years 1971 to 9995')
}
