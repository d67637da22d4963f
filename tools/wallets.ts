import { z } from 'zod'
import { defineOperation } from '../src/operation.ts'
import { actingParty } from './payments.ts'
import { CentsOrZero, Currency, Id, listQuery, resource, Timestamp, toOne } from './schemas.ts'

/** A pool of money. `total` is what the wallet owns, `available` that less what is on hold; cents. */
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
    balance: z.object({ available: CentsOrZero, total: CentsOrZero, currency: Currency }).nullable(),
    claims: z.object({ amount: CentsOrZero, count: CentsOrZero }),
    depositInstructions: z
      .object({ bankName: z.string(), accountNumber: z.string().nullable(), routingNumber: z.string().nullable() })
      .nullable(),
    createdAt: Timestamp.nullable(),
  },
  { party: toOne('party', 'pty') },
)

const read = {
  method: 'GET',
  output: Wallet,
  environments: ['sandbox', 'production'],
  permission: 'wallets.read',
  idempotency: 'ignored',
  instanceId: 'optional',
  effect: 'read',
  toolsets: ['default', 'payments'],
} as const

export const listWallets = defineOperation({
  ...read,
  name: 'list_wallets',
  title: 'List wallets',
  description: 'Lists wallets with their balances in cents. Check before a purchase.',
  path: '/wallets',
  query: listQuery(actingParty),
  result: 'page',
  errors: [],
})

export const getWallet = defineOperation({
  ...read,
  name: 'get_wallet',
  title: 'Read a wallet',
  description: 'Reads a wallet and its balance in cents (available is total less holds).',
  path: '/wallets/{walletId}',
  params: z.strictObject({ walletId: Id('wal') }),
  query: z.strictObject(actingParty),
  result: 'one',
  errors: ['not_found'],
})
