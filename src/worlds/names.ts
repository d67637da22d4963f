import type { WorldParty, WorldShape } from './shape.ts'

type AgentOf = NonNullable<WorldParty['agents']>[number]

/** An object in the file, the index of its party, and the object's index among the party's objects of the same kind. */
export interface Placed<Thing> {
  thing: Thing
  party: number
  at: number
}

/** The recipient of a payment or an invitation. */
export type Recipient =
  | { kind: 'party'; party: number; agent: Placed<AgentOf> | null }
  | { kind: 'email' | 'phone'; address: string }

/** Finds the objects to which names and ids in a world file refer. */
export class Names {
  readonly #parties: readonly WorldParty[]

  constructor({ parties }: Pick<WorldShape, 'parties'>) {
    this.#parties = parties
  }

  party(name: string): number | undefined {
    return indexOf(this.#parties, name)
  }

  /** Finds the index of the object with the given name or id. */
  find<Thing extends { ref?: string | undefined; id?: string | undefined }>(
    things: readonly Thing[] | undefined,
    name: string,
  ): number | undefined {
    return indexOf(things ?? [], name)
  }

  /** Finds an agent: an agent of `ownParty` by name, an agent of any party by `party/agent`, or any agent by id. */
  agent(ownParty: number, name: string): Placed<AgentOf> | undefined {
    const [first = '', second] = name.split('/')
    if (second !== undefined) {
      const party = this.party(first)
      return party === undefined ? undefined : this.#agentOf(party, second)
    }
    const everywhere = name.startsWith('agt_') ? this.#parties.keys() : []
    return [ownParty, ...everywhere].map((party) => this.#agentOf(party, name)).find((agent) => agent !== undefined)
  }

  #agentOf(party: number, name: string): Placed<AgentOf> | undefined {
    const agents = this.#parties[party]?.agents ?? []
    const at = indexOf(agents, name)
    const thing = at === undefined ? undefined : agents[at]
    return at === undefined || thing === undefined ? undefined : { thing, party, at }
  }

  /**
   * Finds a recipient by name, id, email address or phone number. If an address or number belongs to a party in the
   * file, the recipient is that party.
   */
  recipientOf(ownParty: number, name: string): Recipient | undefined {
    if (name.startsWith('+')) return this.#byAddress('phone', name)
    if (name.includes('@')) return this.#byAddress('email', name.toLowerCase())
    const party = this.party(name)
    if (party !== undefined) return { kind: 'party', party, agent: null }
    const agent = this.agent(ownParty, name)
    return agent && { kind: 'party', party: agent.party, agent }
  }

  #byAddress(kind: 'email' | 'phone', address: string): Recipient | undefined {
    if (!addressPatterns[kind].test(address)) return undefined
    const party = this.#parties.findIndex((one) => one[kind]?.toLowerCase() === address)
    return party === -1 ? { kind, address } : { kind: 'party', party, agent: null }
  }

  /** Returns the index of a party's default wallet. */
  defaultWallet(party: number): number {
    const chosen = this.#parties[party]?.wallets?.findIndex((wallet) => wallet.isDefault === true) ?? 0
    return Math.max(0, chosen)
  }

  /** Lists at most eight of the objects' names, or ids for objects without a name, for an error message. */
  namesIn(things: readonly { ref?: string | undefined; id?: string | undefined }[] | undefined): string {
    const names = (things ?? []).flatMap(({ ref, id }) => ref ?? id ?? [])
    return `known names: ${names.slice(0, 8).join(', ') || 'none'}`
  }
}

/**
 * Returns the secrets that the file sets for the two keys that startup prints: the first party's first API key, and the
 * first key of the first agent that has keys.
 */
export function seededSecretsOf({ parties }: Pick<WorldShape, 'parties'>): {
  api_key?: [string]
  agent_key?: [string]
} {
  const apiKey = parties[0]?.apiKeys?.[0]?.secret
  const withKeys = parties.flatMap(({ agents }) => agents ?? []).find(({ keys }) => keys?.length !== 0)
  const agentKey = withKeys?.keys?.[0]?.secret
  return { ...(apiKey && { api_key: [apiKey] }), ...(agentKey && { agent_key: [agentKey] }) }
}

const addressPatterns = {
  email: /^[^\s@"(),:;<>[\\\]]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/,
  phone: /^\+[1-9]\d{6,14}$/,
} as const

function indexOf(
  things: readonly { ref?: string | undefined; id?: string | undefined }[],
  name: string,
): number | undefined {
  const at = things.findIndex(({ ref, id }) => ref === name || id === name)
  return at === -1 ? undefined : at
}
