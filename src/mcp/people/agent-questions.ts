import { agentKeys } from '../../../tools/agent-keys.ts'
import { agents } from '../../../tools/agents.ts'
import { apiKeys } from '../../../tools/api-keys.ts'
import { money, quoted, word } from '../answers/quoted-text.ts'
import { type Arguments, type Question, type Read, related } from './question.ts'

export async function askToRevokeApiKey({ keyId }: Arguments, read: Read): Promise<Question> {
  const { name, apiKeyPrefix, lastUsedAt } = (await read(apiKeys.getApiKey, { keyId })).data.attributes
  return {
    facts: [`Revoke the API key ${quoted(name)} (${shownKey(apiKeyPrefix, keyId)})`, lastUse(lastUsedAt)],
    effect: 'Everything that uses the key stops working, at once and for good.',
    approveLabel: 'Yes, revoke the key',
  }
}

export async function askToEndAgentKey(
  { keyId, expiresInSeconds }: Arguments,
  read: Read,
  change: string,
): Promise<Question> {
  // No operation reads a single agent key, so this lists the newest 100 keys. For an older key, only the id is shown.
  const { data } = await read(agentKeys.listAgentKeys, { limit: 100 })
  const key = data.find(({ id }) => id === keyId)
  const agentId = key === undefined ? undefined : related(key, 'agent')?.id
  const grace = typeof expiresInSeconds === 'number' ? `in ${expiresInSeconds} s` : 'at once'
  return {
    facts: [
      `${change}: ${key === undefined ? word(keyId) : shownKey(key.attributes.agentKeyPrefix, keyId)}`,
      agentId === undefined ? undefined : `Agent: ${word(agentId)}`,
      key === undefined ? undefined : lastUse(key.attributes.lastUsedAt),
    ],
    effect: `Everything that uses the key stops working for good ${grace}.`,
    approveLabel: 'Yes, end the key',
  }
}

export async function askToDeleteAgent({ agentId }: Arguments, read: Read): Promise<Question> {
  const { name } = (await read(agents.getAgent, { agentId })).data.attributes
  return {
    facts: [`Delete the agent ${quoted(name)} (${word(agentId)})`],
    effect: 'The agent’s keys, customer grants and pending invitations end, at once and for good.',
    approveLabel: 'Yes, delete the agent',
  }
}

/**
 * Asks about new limits, because only the person decides what an agent may spend. A change of the agent's name alone
 * needs no question.
 */
export async function askToChangeLimits({ agentId, limits }: Arguments, read: Read): Promise<Question | undefined> {
  if (limits === undefined) return undefined
  const { name } = (await read(agents.getAgent, { agentId })).data.attributes
  const windows = Object.entries((limits ?? {}) as Record<string, unknown>).map(
    ([window, cents]) => `${word(window)} ${typeof cents === 'number' ? money(cents, 'USD') : 'unlimited'}`,
  )
  return {
    facts: [
      `Change the limits of the agent ${quoted(name)} (${word(agentId)})`,
      `To: ${windows.length === 0 ? 'no limits' : windows.join(', ')}`,
    ],
    effect: 'Payments above a limit wait for an approval; without a limit, payments do not wait.',
    approveLabel: 'Yes, change the limits',
  }
}

export async function askToCreateApiKey({ name, scopes }: Arguments): Promise<Question> {
  const held = Array.isArray(scopes) ? scopes.map((scope) => word(scope)).join(', ') : 'all that the current key may do'
  return {
    facts: [`Create an API key ${quoted(name)}`, `It may: ${held}`],
    effect:
      'The model gets the key. Anyone who has it can act for your account without asking you, until it is revoked.',
    approveLabel: 'Yes, create the key',
  }
}

export async function askToCreateAgentKey({ agentId }: Arguments, read: Read): Promise<Question> {
  const { name } = (await read(agents.getAgent, { agentId })).data.attributes
  return {
    facts: [`Create a key for the agent ${quoted(name)} (${word(agentId)})`],
    effect: 'The model gets the key. Anyone who has it can act as the agent without asking you, until it is revoked.',
    approveLabel: 'Yes, create the key',
  }
}

export async function askToCreateApplication({ agentId, name }: Arguments, read: Read): Promise<Question> {
  const agent = (await read(agents.getAgent, { agentId })).data.attributes
  return {
    facts: [`Register the application ${quoted(name)} for the agent ${quoted(agent.name)} (${word(agentId)})`],
    effect: 'It signs in without a person. Anyone with its secret or key can act as the agent until you revoke it.',
    approveLabel: 'Yes, register the application',
  }
}

/** Asks about new keys of an application. The only other change is to remove scopes, which needs no approval. */
export async function askToChangeApplication({ applicationId, publicKeys }: Arguments): Promise<Question | undefined> {
  if (publicKeys === undefined) return undefined
  return {
    facts: [`Replace the keys of the application ${word(applicationId)}`],
    effect: 'Anyone with the new private keys can act as the agent. The current keys stop working at once.',
    approveLabel: 'Yes, replace the keys',
  }
}

export async function askToRevokeApplication({ applicationId }: Arguments): Promise<Question> {
  return {
    facts: [`Revoke the application ${word(applicationId)}`],
    effect: 'The application and all its tokens stop working, at once and for good.',
    approveLabel: 'Yes, revoke the application',
  }
}

export async function askToTrustIssuer({ issuer, name, agents }: Arguments): Promise<Question> {
  return {
    facts: [`Trust the identity provider ${quoted(issuer)} for the application ${quoted(name)}`, agentsFact(agents)],
    effect: 'The people it vouches for can act as these agents through the application, until you end the trust.',
    approveLabel: 'Yes, trust it',
  }
}

export async function askToChangeIssuer({ trustedIssuerId, jwksUri, agents }: Arguments): Promise<Question> {
  return {
    facts: [
      `Change the trusted identity provider ${word(trustedIssuerId)}`,
      ...(jwksUri === undefined ? [] : [`New address of its keys: ${quoted(jwksUri)}`]),
      ...(agents === undefined ? [] : [agentsFact(agents)]),
    ],
    effect: 'Tokens issued through it stop working at once. New sign-ins follow the changed settings.',
    approveLabel: 'Yes, change it',
  }
}

export async function askToRevokeIssuer({ trustedIssuerId }: Arguments): Promise<Question> {
  return {
    facts: [`End the trust in the identity provider ${word(trustedIssuerId)}`],
    effect: 'The provider’s application and all tokens issued through it stop working, at once and for good.',
    approveLabel: 'Yes, end the trust',
  }
}

/** Lists the agents, each with the claim in a person's token that selects the agent. */
const agentsFact = (agents: unknown) =>
  `Agents for its people: ${(agents as { claim: string; value: string; agentId: string }[])
    .map(({ claim, value, agentId }) => `${word(agentId)} if ${quoted(claim)} is ${quoted(value)}`)
    .join(', ')}`

/**
 * Shows only the day of the last use. Building the question may itself use the key. If the exact time were shown, the
 * facts could then differ from the facts that the person agreed to.
 */
const lastUse = (at: string | null) => (at === null ? 'Never used' : `Last used: ${word(at.slice(0, 10))} (UTC)`)

const shownKey = (prefix: string, id: string) => `${word(prefix)}…, ${word(id)}`
