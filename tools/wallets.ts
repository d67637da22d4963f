import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { readOperation, writeOperation } from './kinds.ts'
import { actingParty } from './payments.ts'
import {
  ArgumentId,
  CentsOrZero,
  Currency,
  Description,
  Id,
  listQuery,
  resource,
  SignedCents,
  TagChanges,
  Tags,
  Text,
  Timestamp,
  toOne,
} from './schemas.ts'

/** A pool of money. `available` is `total` minus the amounts on hold. Amounts are in cents. */
export const Wallet = resource(
  'wallet',
  Id('wal'),
  {
    status: z.enum(['active', 'frozen', 'closed']),
    walletType: z.enum(['standard', 'vault']),
    isDefault: z.boolean(),
    displayName: z.string().nullable(),
    description: z.string().nullable(),
    tags: z.record(z.string(), z.string()),
    balance: z.object({ available: SignedCents, total: SignedCents, currency: Currency }).nullable(),
    claims: z.object({ amount: CentsOrZero, count: z.int().nonnegative() }),
    depositInstructions: z
      .object({ bankName: z.string(), accountNumber: z.string().nullable(), routingNumber: z.string().nullable() })
      .nullable(),
    createdAt: Timestamp.nullable(),
  },
  { party: toOne('party', 'pty') },
)

const read = {
  ...readOperation,
  output: Wallet,
  permission: 'wallets.read',
  toolsets: ['default', 'payments'],
  extension: false,
} as const

const walletParams = z.strictObject({ walletId: ArgumentId('wal') })

const walletName = Text(32).describe('Name that people see')
const walletDescription = Description(100).nullable().describe('Purpose')

/** The members shared by the wallet commands. Agents cannot use these commands (docs/service.md#agent-policy). */
const command = {
  ...writeOperation,
  output: Wallet,
  permission: 'wallets.update',
  toolsets: ['payments'],
  extension: false,
} as const

const depositExample = {
  depositInstructions: { bankName: 'Sandbox Bank', accountNumber: null, routingNumber: null },
} as const

export const wallets = {
  listWallets: defineOperation({
    ...read,
    result: 'page',
    name: 'list_wallets',
    title: 'List wallets',
    description: 'Lists wallets and balances: available can be spent, total includes holds.',
    path: '/wallets',
    query: listQuery(actingParty),
    errors: [],
    example: { attributes: depositExample },
  }),

  getWallet: defineOperation({
    ...read,
    name: 'get_wallet',
    title: 'Read a wallet',
    description: 'Reads one wallet by id, with its balance. All wallets: list_wallets.',
    path: '/wallets/{walletId}',
    params: walletParams,
    query: z.strictObject(actingParty),
    toolsets: ['payments'],
    errors: ['not_found'],
  }),

  createWallet: defineOperation({
    ...command,
    name: 'create_wallet',
    title: 'Create a wallet',
    description: 'Creates an empty wallet for your party. To let an agent spend from it: attach_wallet_agent.',
    answers: 201,
    path: '/wallets',
    adds: true,
    attributes: z.strictObject({
      displayName: walletName,
      description: walletDescription.optional(),
      tags: Tags.optional(),
      partyId: ArgumentId('pty', 'Your own party; can be omitted').optional(),
    }),
    permission: 'wallets.create',
    errors: [],
    example: {
      attributes: { ...depositExample, isDefault: false, balance: { available: 0, total: 0, currency: 'USD' } },
    },
  }),

  updateWallet: defineOperation({
    ...command,
    method: 'PATCH',
    name: 'update_wallet',
    title: 'Change a wallet',
    description: "Changes a wallet's name, description or tags. Omitted fields stay as they are.",
    path: '/wallets/{walletId}',
    params: walletParams,
    attributes: z.strictObject({
      displayName: walletName.optional(),
      description: walletDescription.optional(),
      tags: TagChanges.optional(),
    }),
    errors: ['not_found'],
    example: { attributes: depositExample },
  }),

  setDefaultWallet: defineOperation({
    ...command,
    name: 'set_default_wallet',
    title: 'Set the default wallet',
    description:
      'Sets the wallet that your party pays from, and is paid into, by default. For an agent: set_agent_default_wallet.',
    path: '/wallets/{walletId}/default',
    params: walletParams,
    setsState: true,
    errors: ['not_found', 'conflict'],
    example: { attributes: depositExample },
  }),

  freezeWallet: defineOperation({
    ...command,
    idempotency: 'ignored',
    name: 'freeze_wallet',
    title: 'Freeze a wallet',
    description:
      'Blocks all new payments, transfers and card purchases of a wallet until unfreeze_wallet. To block one card: freeze_agent_card.',
    path: '/wallets/{walletId}/freeze',
    params: walletParams,
    setsState: true,
    errors: ['not_found', 'conflict'],
    example: { attributes: { ...depositExample, status: 'frozen' } },
  }),

  unfreezeWallet: defineOperation({
    ...command,
    idempotency: 'ignored',
    name: 'unfreeze_wallet',
    title: 'Unfreeze a wallet',
    description: 'Lets a frozen wallet pay and be paid again. Frozen cards stay frozen.',
    path: '/wallets/{walletId}/unfreeze',
    params: walletParams,
    setsState: true,
    errors: ['not_found', 'conflict'],
    example: { attributes: depositExample },
  }),
} as const
