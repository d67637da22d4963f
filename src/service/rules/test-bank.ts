import type { accountRejections } from '../../../tools/external-accounts.ts'

/** The reason why a bank refuses or returns a transfer, with its return code, such as R01. */
export interface BankReason {
  code: string
  reason: string
}

/**
 * A bank's response to a deposit or withdrawal. A deposit is a transfer from an account at the bank, and a withdrawal
 * is a transfer to such an account.
 */
export type BankAnswer =
  | { does: 'settles' }
  | ({ does: 'fails' } & BankReason)
  /** The bank settles the transfer, and returns it `afterBankingDays` banking days later. */
  | ({ does: 'returns'; afterBankingDays: number } & BankReason)

/** An account that a person has at the test bank. */
export interface TestAccount {
  accountName: string
  accountType: 'checking' | 'savings'
  lastFour: string
  deposit: BankAnswer
  withdrawal: BankAnswer
  /** The reason why the account cannot be linked; null if the account can be linked. */
  rejection: (typeof accountRejections)[number] | null
}

const settles = { does: 'settles' } as const
const ordinary = { accountType: 'checking', deposit: settles, withdrawal: settles, rejection: null } as const

function rejectedAccount(
  accountName: string,
  lastFour: string,
  reason: (typeof accountRejections)[number],
): TestAccount {
  return { ...ordinary, accountName, lastFour, rejection: reason }
}

export const testBankName = 'Test Bank'

/** The accounts of the test bank, keyed by id (docs/sandbox.md#bank-accounts). */
export const testAccounts = {
  checking: { ...ordinary, accountName: 'Test Checking', lastFour: '0000' },
  savings: { ...ordinary, accountName: 'Test Savings', accountType: 'savings', lastFour: '1111' },
  deposits_fail: {
    ...ordinary,
    accountName: 'Test Empty Checking',
    lastFour: '0001',
    deposit: { does: 'fails', code: 'R01', reason: 'Insufficient funds' },
  },
  deposits_return: {
    ...ordinary,
    accountName: 'Test Disputed Checking',
    lastFour: '0010',
    deposit: { does: 'returns', afterBankingDays: 2, code: 'R10', reason: 'Customer advises not authorized' },
  },
  withdrawals_fail: {
    ...ordinary,
    accountName: 'Test Closed Checking',
    lastFour: '0002',
    withdrawal: { does: 'fails', code: 'R02', reason: 'Account closed' },
  },
  withdrawals_return: {
    ...ordinary,
    accountName: 'Test Refusing Checking',
    lastFour: '0023',
    withdrawal: { does: 'returns', afterBankingDays: 2, code: 'R23', reason: 'Credit entry refused by receiver' },
  },
  profile_identity_missing: rejectedAccount('Test No Profile', '2001', 'profile_identity_missing'),
  bank_identity_unavailable: rejectedAccount('Test No Identity', '2002', 'bank_identity_unavailable'),
  bank_account_name_mismatch: rejectedAccount('Test Other Name', '2003', 'bank_account_name_mismatch'),
  bank_account_address_mismatch: rejectedAccount('Test Other Address', '2004', 'bank_account_address_mismatch'),
  bank_account_ownership_mismatch: rejectedAccount('Test Other Owner', '2005', 'bank_account_ownership_mismatch'),
  bank_account_verification_failed: rejectedAccount('Test Unverified', '2006', 'bank_account_verification_failed'),
} as const satisfies Record<string, TestAccount>

export type TestAccountId = keyof typeof testAccounts

/**
 * The sandbox's processor tokens. A token links the listed accounts, as if a person had chosen them at the test bank.
 */
export const processorTokens: ReadonlyMap<string, readonly TestAccountId[]> = new Map([
  ['processor-sandbox-accounts', ['checking', 'savings']],
  ['processor-sandbox-deposits-fail', ['deposits_fail']],
  ['processor-sandbox-deposits-return', ['deposits_return']],
  ['processor-sandbox-withdrawals-fail', ['withdrawals_fail']],
  ['processor-sandbox-withdrawals-return', ['withdrawals_return']],
  ['processor-sandbox-some-rejected', ['checking', 'bank_account_name_mismatch']],
  ['processor-sandbox-profile-identity-missing', ['profile_identity_missing']],
  ['processor-sandbox-bank-identity-unavailable', ['bank_identity_unavailable']],
  ['processor-sandbox-bank-account-name-mismatch', ['bank_account_name_mismatch']],
  ['processor-sandbox-bank-account-address-mismatch', ['bank_account_address_mismatch']],
  ['processor-sandbox-bank-account-ownership-mismatch', ['bank_account_ownership_mismatch']],
  ['processor-sandbox-bank-account-verification-failed', ['bank_account_verification_failed']],
])

/** The accounts that `simulateBankAccountLink` links. */
export const defaultAccounts: readonly TestAccountId[] = ['checking']

/** Returns the test bank's response to a deposit from, or a withdrawal to, one of its accounts. */
export function bankAnswer(bankAccountId: string, direction: 'deposit' | 'withdrawal'): BankAnswer {
  const account = (testAccounts as Readonly<Record<string, TestAccount>>)[bankAccountId]
  if (account === undefined) throw new Error(`Bug: the test bank has no account ${bankAccountId}.`)
  return account[direction]
}
