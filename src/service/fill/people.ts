import { delegable } from '../../core/permissions.ts'
import type { WorldParty } from '../../worlds/shape.ts'
import { stopParty } from '../operations/steps/decide-compliance.ts'
import { retireAgent } from '../operations/steps/retire-agent.ts'
import { funded } from '../rules/ledger.ts'
import { limitsColumn } from '../rules/limits.ts'
import { isStopped, partyAfter } from '../rules/parties.ts'
import { findAgent, insertAgent } from '../store/agents.ts'
import { insertComplianceCase } from '../store/compliance-cases.ts'
import { insertParty } from '../store/parties.ts'
import { savePassword } from '../store/passwords.ts'
import { createUser } from '../store/users.ts'
import { attachAgent } from '../store/wallet-agents.ts'
import { findWallet, insertWallet, updateWallet } from '../store/wallets.ts'
import type { Path } from './history.ts'
import type { User } from './passwords.ts'
import { mustFind, type WorldBuilder } from './world-builder.ts'

type Agent = NonNullable<WorldParty['agents']>[number]

/** Inserts a party with its wallets. `openings` maps the wallets' ids to their opening balances in cents. */
export async function insertAccount(
  builder: WorldBuilder,
  index: number,
  openings: Map<string, number>,
): Promise<void> {
  const { tx } = builder.context
  const { party, id, wallets } = builder.account(index)
  const path = ['parties', index]
  const createdAtMs = builder.past(party.createdAt, builder.defaultCreatedAtMs, [...path, 'createdAt'])
  await insertParty(tx, {
    id,
    partyType: party.type,
    displayName: party.displayName ?? party.ref ?? `Party ${index + 1}`,
    email: party.email ?? null,
    phone: party.phone ?? null,
    handle: party.handle ?? null,
    limits: limitsColumn(party.limits),
    ...statusFields(party),
    profile: JSON.stringify(party.profile ?? {}),
    createdAtMs,
  })
  if (party.compliance !== undefined) {
    const at = { createdAtMs, updatedAtMs: createdAtMs }
    const row = { id: builder.id('cmp', undefined, createdAtMs), partyId: id, status: party.compliance, version: 1 }
    await insertComplianceCase(tx, { ...row, ...at })
  }
  for (const wallet of wallets) {
    await insertWallet(tx, wallet)
    const cents = openings.get(wallet.id) ?? 0
    if (cents > 0) await builder.post(funded(wallet.id, cents), [wallet], wallet.createdAtMs, null)
  }
}

/** Derives a party's status, and whether it may issue cards, from the file and the party's compliance case. */
function statusFields({ status, compliance, issuedCardsEnabled }: WorldParty) {
  const decided = compliance === undefined ? undefined : partyAfter('ACTIVE', compliance)
  const isEnabled = issuedCardsEnabled && decided?.issuedCardsEnabled !== 0
  return { status: status ?? decided?.status ?? 'ACTIVE', issuedCardsEnabled: isEnabled ? 1 : 0 } as const
}

/** Inserts the users and agents of a party. */
export async function insertActors(builder: WorldBuilder, index: number): Promise<void> {
  const { users = [], agents = [] } = builder.account(index).party
  for (const [at, user] of users.entries()) await insertUser(builder, index, user, at)
  for (const [at, agent] of agents.entries()) await addAgent(builder, index, agent, at)
}

async function insertUser(builder: WorldBuilder, index: number, user: User, at: number): Promise<void> {
  const { tx, passwords } = builder.context
  const { id: partyId, userIds } = builder.account(index)
  const path = ['parties', index, 'users', at]
  const email = user.email.toLowerCase()
  const id = mustFind(userIds[at])
  const createdAtMs = builder.past(user.createdAt, builder.defaultCreatedAtMs, [...path, 'createdAt'])
  const mfaPath = [...path, 'secondFactorAt']
  const mfaVerifiedAtMs = user.secondFactorAt === undefined ? null : builder.past(user.secondFactorAt, 0, mfaPath)
  const name = user.name ?? user.ref ?? email
  const { role, status = 'ACTIVE' } = user
  await createUser(tx, { id, partyId, role, status, name, email, mfaVerifiedAtMs, createdAtMs })
  if (user.password !== undefined) await savePassword(tx, { userId: id, hash: mustFind(passwords.get(user)) })
}

async function addAgent(builder: WorldBuilder, index: number, agent: Agent, at: number): Promise<void> {
  const { tx, clockMs } = builder.context
  const { id: partyId, party, agentIds } = builder.account(index)
  const path: Path = ['parties', index, 'agents', at]
  const { lastActiveAt } = agent
  // A deleted agent loses its handle, so that a different agent can use the handle.
  const slug = agent.status === 'ACTIVE' ? (agent.slug ?? null) : null
  const createdAtMs = builder.past(agent.createdAt, builder.defaultCreatedAtMs, [...path, 'createdAt'])
  const id = mustFind(agentIds[at])
  await insertAgent(tx, {
    id,
    partyId,
    name: agent.name ?? agent.ref ?? `Agent ${at + 1}`,
    description: agent.description ?? null,
    tags: JSON.stringify(agent.tags ?? {}),
    slug,
    handle: slug === null ? null : `@${party.handle}-${slug}`,
    limits: limitsColumn(agent.limits),
    createdBy: builder.userId(index, agent.createdBy),
    createdAtMs,
    lastActiveAtMs: lastActiveAt === undefined ? null : builder.past(lastActiveAt, 0, [...path, 'lastActiveAt']),
  })
  const defaultAttachment = { wallet: undefined, permissions: delegable, isDefault: true }
  const attachments = agent.wallets ?? [defaultAttachment]
  const chosen = attachments.findIndex(({ isDefault }) => isDefault === true)
  for (const [number, { wallet, permissions }] of attachments.entries()) {
    const isDefault = number === Math.max(0, chosen) ? 1 : 0
    const walletId = builder.wallet(index, wallet).id
    const attachment = { partyId, walletId, agentId: id, isDefault, attachedAtMs: createdAtMs } as const
    await attachAgent(tx, attachment, [...new Set(permissions)])
  }
  if (agent.status === 'ACTIVE') return
  const revokedAtMs = builder.past(agent.revokedAt, clockMs, [...path, 'revokedAt'], createdAtMs)
  const apply = async () => {
    await retireAgent({ tx, nowMs: revokedAtMs }, mustFind(await findAgent(tx, partyId, id)), null)
  }
  builder.history.add({ atMs: revokedAtMs, path, postings: [], apply })
}

/**
 * Cancels the invitations, revokes the invitation links and expires the unused cards of all parties that are suspended
 * or inactive when the world begins.
 */
export async function stopParties({ context: { tx, clockMs }, accounts }: WorldBuilder): Promise<void> {
  for (const { id, party } of accounts) {
    if (isStopped(statusFields(party).status)) await stopParty(tx, id, clockMs)
  }
}

/**
 * Gives a party's wallets their statuses from the file. Before this, while the history is applied, all wallets are
 * active.
 */
export async function setWalletStatuses(builder: WorldBuilder, index: number): Promise<void> {
  const { tx } = builder.context
  const { party, id, wallets } = builder.account(index)
  for (const [at, { status }] of (party.wallets ?? []).entries()) {
    if (status === 'active') continue
    const before = mustFind(await findWallet(tx, id, mustFind(wallets[at]).id))
    await updateWallet(tx, before, { status })
  }
}
