import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { deleteOperation, readOperation, simulationOperation, writeOperation } from './kinds.ts'
import { actingParty } from './payments.ts'
import { ArgumentId, Id, listQuery, resource, Text, Timestamp, toOne } from './schemas.ts'

export const externalAccountStatuses = ['pending', 'new', 'active', 'disabled', 'deleted', 'unknown'] as const
export const connectionStatuses = ['active', 'login_required', 'disconnected'] as const

/** The reasons why a bank account was not linked. The published specification of the API defines these codes. */
export const accountRejections = [
  'profile_identity_missing',
  'bank_identity_unavailable',
  'bank_account_name_mismatch',
  'bank_account_address_mismatch',
  'bank_account_ownership_mismatch',
  'bank_account_verification_failed',
] as const

/** A bank account outside the service. A party deposits money from it and withdraws money to it. */
export const ExternalAccount = resource(
  'externalAccount',
  Id('eac'),
  {
    lastFour: z.string(),
    status: z.enum(externalAccountStatuses),
    connectionStatus: z.enum(connectionStatuses),
    bankName: z.string(),
    accountName: z.string(),
    accountType: z.enum(['checking', 'savings', 'unknown']).nullable(),
    createdAt: Timestamp,
  },
  { party: toOne('party', 'pty') },
)

/**
 * The `meta` of a response with newly linked accounts. It contains the rejected accounts, and pagination, which always
 * says that there is only one page.
 */
const LinkMeta = z.object({
  pagination: z.object({ hasMore: z.boolean(), nextCursor: z.string().nullable() }),
  rejectedAccounts: z.array(
    z.object({
      accountId: z.string(),
      accountName: z.string(),
      accountMask: z.string().nullable(),
      reason: z.enum(accountRejections),
    }),
  ),
})

const shared = {
  output: ExternalAccount,
  toolsets: ['accounts'],
  extension: false,
} as const

const params = z.strictObject({ externalAccountId: ArgumentId('eac') })

const linkCommand = {
  ...shared,
  ...writeOperation,
  result: 'several',
  meta: LinkMeta,
  permission: 'external_accounts.create',
  setsState: true,
} as const

export const externalAccounts = {
  listExternalAccounts: defineOperation({
    ...shared,
    ...readOperation,
    result: 'page',
    name: 'list_external_accounts',
    title: 'List bank accounts',
    description: 'Lists the linked bank accounts. To move money: create_deposit, create_withdrawal.',
    path: '/external-accounts',
    query: listQuery(actingParty),
    permission: 'external_accounts.read',
    errors: [],
  }),

  linkExternalAccounts: defineOperation({
    ...linkCommand,
    name: 'link_external_accounts',
    title: 'Link bank accounts',
    description:
      'Links the bank accounts behind a processor token. meta.rejectedAccounts: accounts not linked, and why.',
    path: '/external-accounts/processor-token',
    attributes: z.strictObject({
      processorToken: z.string().min(1).max(256).describe("From a person's sign-in at their bank"),
      institutionName: Text(100).describe("The bank's name").optional(),
      ...actingParty,
    }),
    answers: 201,
    errors: ['not_found', 'not_implemented'],
  }),

  getExternalAccount: defineOperation({
    ...shared,
    ...readOperation,
    name: 'get_external_account',
    title: 'Read a bank account',
    description: 'Reads one linked bank account. If it is login_required or disconnected, link it again.',
    path: '/external-accounts/{externalAccountId}',
    params,
    query: z.strictObject(actingParty),
    permission: 'external_accounts.read',
    errors: ['not_found'],
  }),

  deleteExternalAccount: defineOperation({
    ...shared,
    ...deleteOperation,
    idempotency: 'ignored',
    name: 'delete_external_account',
    title: 'Unlink a bank account',
    description: 'Unlinks a bank account. Transfers already in progress continue.',
    path: '/external-accounts/{externalAccountId}',
    params,
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'external_accounts.delete',
    errors: ['not_found'],
    example: { attributes: { status: 'deleted', connectionStatus: 'disconnected' } },
  }),

  simulateBankAccountLink: defineOperation({
    ...linkCommand,
    environments: ['sandbox'],
    instanceId: 'agents',
    name: 'simulate_bank_account_link',
    title: 'Link a test bank account',
    description: 'Links a test bank account to your party, as if a person had signed in at their bank.',
    path: '/simulations/external-accounts/link',
    permission: 'banks.simulate',
    errors: [],
  }),

  simulateBankAccountDisconnection: defineOperation({
    ...shared,
    ...simulationOperation,
    name: 'simulate_bank_account_disconnection',
    title: 'Disconnect a bank account',
    description:
      'Simulates the bank ending the connection or requiring a new login: deposits are refused until the account is linked again.',
    path: '/simulations/external-accounts/{externalAccountId}/disconnect',
    params,
    attributes: z.strictObject({
      connectionStatus: z
        .enum(['login_required', 'disconnected'])
        .default('disconnected')
        .describe('login_required: the bank requires a new login'),
    }),
    bodyOptional: true,
    permission: 'banks.simulate',
    setsState: true,
    errors: ['not_found', 'conflict'],
    extension: true,
    example: { attributes: { connectionStatus: 'disconnected' } },
  }),
} as const
