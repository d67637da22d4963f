import type { z } from 'zod'
import type { ExternalAccount, externalAccounts } from '../../../tools/external-accounts.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { newId, timestamp } from '../../core/system.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import {
  defaultAccounts,
  processorTokens,
  type TestAccount,
  type TestAccountId,
  testAccounts,
  testBankName,
} from '../rules/test-bank.ts'
import {
  findAccountAtBank,
  findExternalAccount,
  insertExternalAccount,
  listExternalAccounts,
  updateExternalAccount,
} from '../store/external-accounts.ts'
import type { ExternalAccountRow } from '../store/schema/external-accounts.ts'
import { cancelInReview } from './steps/bank-transfers.ts'

type AccountResource = z.output<typeof ExternalAccount>

export const externalAccountHandlers = {
  listExternalAccounts: async (input, { tx, partyId }) => {
    const list = { list: 'externalAccounts', partyId }
    return page(await listExternalAccounts(tx, partyId, pageRequest(input, list)), list, externalAccountView)
  },

  linkExternalAccounts: async ({ processorToken, institutionName }, context) => {
    // Test accounts hold no real money, so in production a deposit from a test account would create money.
    if (context.environment !== 'sandbox') {
      fail('not_implemented', {
        detail: 'This service is not connected to a bank. Accounts can be linked only in its sandbox.',
      })
    }
    const chosen = processorTokens.get(processorToken)
    if (chosen === undefined) {
      const knownTokens = [...processorTokens.keys()].join(', ')
      failAttribute('processorToken', `processorToken must be one of the sandbox's test tokens: ${knownTokens}.`)
    }
    return link(context, chosen, institutionName ?? testBankName)
  },

  getExternalAccount: async ({ externalAccountId }, context) =>
    externalAccountView(await loadExternalAccount(context, externalAccountId)),

  /** Unlinks an account. An account that is already unlinked is returned unchanged. */
  deleteExternalAccount: async ({ externalAccountId }, context) => {
    const { tx, partyId, nowMs } = context
    // Only requests with an idempotency key have already locked the party, and this request may have no key.
    await tx.lockParty(partyId)
    const before = await loadExternalAccount(context, externalAccountId)
    const change = { status: 'deleted', connectionStatus: 'disconnected', updatedAtMs: nowMs } as const
    if (before.status !== 'deleted') await cancelInReview(context, before)
    const after = before.status === 'deleted' ? before : await updateExternalAccount(tx, before, change)
    return { data: externalAccountView(after), meta: { deleted: true } }
  },

  simulateBankAccountLink: async (_input, context) => link(context, defaultAccounts, testBankName),

  simulateBankAccountDisconnection: async ({ externalAccountId, connectionStatus = 'disconnected' }, context) => {
    const { tx, nowMs } = context
    const before = await loadExternalAccount(context, externalAccountId)
    if (before.status === 'deleted') {
      fail('conflict', { detail: `The bank account ${externalAccountId} is unlinked: it has no connection to end.` })
    }
    if (before.connectionStatus === connectionStatus) return externalAccountView(before)
    return externalAccountView(await updateExternalAccount(tx, before, { connectionStatus, updatedAtMs: nowMs }))
  },
} satisfies HandlersOf<typeof externalAccounts>

/**
 * Links the chosen accounts, except those that the test bank rejects. An account that was linked before keeps its id,
 * and its connection becomes active again.
 */
async function link(context: Context, chosen: readonly TestAccountId[], bankName: string) {
  const data: AccountResource[] = []
  const rejectedAccounts = []
  for (const accountId of chosen) {
    const account: TestAccount = testAccounts[accountId]
    const { accountName, lastFour: accountMask, rejection: reason } = account
    if (reason === null) data.push(externalAccountView(await linkOne(context, accountId, { ...account, bankName })))
    else rejectedAccounts.push({ accountId, accountName, accountMask, reason })
  }
  return { data, meta: { pagination: { hasMore: false, nextCursor: null }, rejectedAccounts } }
}

async function linkOne(
  { tx, system, partyId, nowMs, causeAgentId, instanceId }: Context,
  bankAccountId: TestAccountId,
  { accountName, accountType, lastFour, bankName }: TestAccount & { bankName: string },
): Promise<ExternalAccountRow> {
  const linked = { status: 'active', connectionStatus: 'active', bankName, updatedAtMs: nowMs } as const
  const cause = { agentId: causeAgentId, instanceId }
  const before = await findAccountAtBank(tx, { partyId, bankAccountId })
  if (before !== undefined) {
    const isLinked = before.status === 'active' && before.connectionStatus === 'active' && before.bankName === bankName
    return isLinked ? before : updateExternalAccount(tx, before, { ...linked, ...cause })
  }
  const id = newId('eac', system, nowMs)
  const accountFields = { accountName, accountType, lastFour, bankAccountId }
  const row: ExternalAccountRow = { id, partyId, ...accountFields, ...linked, ...cause, version: 1, createdAtMs: nowMs }
  await insertExternalAccount(tx, row)
  return row
}

/**
 * Returns a bank account of the party, whether or not it is still linked. @throws 404 if the party has no such account.
 */
async function loadExternalAccount({ tx, partyId }: Context, id: string): Promise<ExternalAccountRow> {
  const account = await findExternalAccount(tx, partyId, id)
  if (account === undefined) fail('not_found', { detail: `There is no bank account ${id}.` })
  return account
}

export function externalAccountView(row: ExternalAccountRow): AccountResource {
  const { id, partyId, lastFour, status, connectionStatus, bankName, accountName, accountType } = row
  return {
    type: 'externalAccount',
    id,
    attributes: {
      lastFour,
      status,
      connectionStatus,
      bankName,
      accountName,
      accountType,
      createdAt: timestamp(row.createdAtMs),
    },
    relationships: { party: { data: { type: 'party', id: partyId } } },
  }
}
