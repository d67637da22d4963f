import { foreignName } from '../../../core/foreign-text.ts'

/** The text to show for each posting reason. A run's timeline also uses these texts for due effects. */
const reasonWords: Readonly<Record<string, string>> = {
  funded: 'Funded',
  authorized: 'Hold placed',
  captured: 'Captured',
  released: 'Hold released',
  refunded: 'Refunded',
  subscription_paid: 'Subscription paid',
  paid: 'Paid',
  reserved: 'Reserved',
  claimed: 'Claimed',
  wired: 'Wired',
  returned: 'Returned',
  transferred: 'Transferred',
  paid_by_card: 'Paid by card',
  deposited: 'Deposited',
  withdrawn: 'Withdrawn',
  deposit_returned: 'Deposit returned',
  withdrawal_returned: 'Withdrawal returned',
}

export const reasonText = (reason: string) => reasonWords[reason] ?? foreignName(reason, 'Moved')

/** The text to show for each ledger account. */
const accountWords: Readonly<Record<string, string>> = {
  available: 'available',
  held: 'held',
  card_network: 'Card network',
  payer_cards: "Payers' cards",
  funding: 'Funding',
  wire_network: 'Wire network',
  bank_network: 'Banks',
}

export const accountText = (account: string) => accountWords[account] ?? account
