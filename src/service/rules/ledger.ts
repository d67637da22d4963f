/**
 * An entry of a posting in double-entry bookkeeping. A wallet has the accounts `available` and `held`; all other
 * accounts belong to the outside world. The entries of each posting sum to zero.
 */
export interface Entry {
  account: 'available' | 'held' | 'card_network' | 'payer_cards' | 'funding' | 'wire_network' | 'bank_network'
  /** Null for the accounts of the outside world. */
  walletId: string | null
  amountCents: number
}

export interface Posting {
  reason:
    | 'funded'
    | 'authorized'
    | 'captured'
    | 'released'
    | 'refunded'
    | 'subscription_paid'
    | 'paid'
    | 'reserved'
    | 'claimed'
    | 'wired'
    | 'returned'
    | 'transferred'
    | 'paid_by_card'
    | 'deposited'
    | 'withdrawn'
    | 'deposit_returned'
    | 'withdrawal_returned'
  entries: readonly Entry[]
}

/** Creates the posting for money that enters a wallet from outside the service. */
export function funded(walletId: string, amountCents: number): Posting {
  return move('funded', outsideAccount('funding'), availableOf(walletId), amountCents)
}

/** Creates the posting that places a hold. */
export function authorized(walletId: string, amountCents: number): Posting {
  return move('authorized', availableOf(walletId), heldOf(walletId), amountCents)
}

/** Creates the posting that ends a hold: the captured part goes to the card network, and the rest becomes available. */
export function captured(walletId: string, heldCents: number, capturedCents: number): Posting {
  return {
    reason: 'captured',
    entries: [
      { ...heldOf(walletId), amountCents: -heldCents },
      { ...outsideAccount('card_network'), amountCents: capturedCents },
      { ...availableOf(walletId), amountCents: heldCents - capturedCents },
    ].filter((entry) => entry.amountCents !== 0),
  }
}

/** Creates the posting that ends a hold from which nothing was captured. */
export function released(walletId: string, heldCents: number): Posting {
  return move('released', heldOf(walletId), availableOf(walletId), heldCents)
}

/** Creates the posting for a refund, which returns captured money to the wallet. */
export function refunded(walletId: string, amountCents: number): Posting {
  return move('refunded', outsideAccount('card_network'), availableOf(walletId), amountCents)
}

/** Creates the posting for a subscription payment from the payer's card into the merchant's wallet. */
export function subscriptionPaid(walletId: string, amountCents: number): Posting {
  return move('subscription_paid', outsideAccount('payer_cards'), availableOf(walletId), amountCents)
}

/** Creates the posting for a card payment that pays a payment request. The money enters the requester's wallet. */
export function paidByCard(walletId: string, amountCents: number): Posting {
  return move('paid_by_card', outsideAccount('payer_cards'), availableOf(walletId), amountCents)
}

/** Creates the posting for a payment from one wallet to another. */
export function paid(walletId: string, toWalletId: string, amountCents: number): Posting {
  return move('paid', availableOf(walletId), availableOf(toWalletId), amountCents)
}

/** Creates the posting that reserves money for a payment to a bank, or to a recipient who is not known yet. */
export function reserved(walletId: string, amountCents: number): Posting {
  return move('reserved', availableOf(walletId), heldOf(walletId), amountCents)
}

/** Creates the posting that moves the reserved money of a claimed payment to its recipient. */
export function claimed(walletId: string, toWalletId: string, amountCents: number): Posting {
  return move('claimed', heldOf(walletId), availableOf(toWalletId), amountCents)
}

/** Creates the posting for a wire to a bank account. */
export function wired(walletId: string, amountCents: number): Posting {
  return move('wired', availableOf(walletId), outsideAccount('wire_network'), amountCents)
}

/** Creates the posting for a wire that the bank returned. */
export function returned(walletId: string, amountCents: number): Posting {
  return move('returned', outsideAccount('wire_network'), availableOf(walletId), amountCents)
}

/** Creates the posting for a deposit from a linked bank account. */
export function deposited(walletId: string, amountCents: number): Posting {
  return move('deposited', outsideAccount('bank_network'), availableOf(walletId), amountCents)
}

/** Creates the posting for a deposit that the bank returned. The wallet's balance may become negative. */
export function depositReturned(walletId: string, amountCents: number): Posting {
  return move('deposit_returned', availableOf(walletId), outsideAccount('bank_network'), amountCents)
}

/** Creates the posting for a withdrawal that has arrived at the linked bank account. The money was reserved before. */
export function withdrawn(walletId: string, amountCents: number): Posting {
  return move('withdrawn', heldOf(walletId), outsideAccount('bank_network'), amountCents)
}

/** Creates the posting for a withdrawal that the bank returned. */
export function withdrawalReturned(walletId: string, amountCents: number): Posting {
  return move('withdrawal_returned', outsideAccount('bank_network'), availableOf(walletId), amountCents)
}

/** Creates the posting for a transfer between two wallets of one party. */
export function transferred(walletId: string, toWalletId: string, amountCents: number): Posting {
  return move('transferred', availableOf(walletId), availableOf(toWalletId), amountCents)
}

/** Returns the change that a posting makes to a wallet's balances, in cents. */
export function balanceChange(posting: Posting, walletId: string): { availableCents: number; heldCents: number } {
  const sum = (account: Entry['account']) =>
    posting.entries
      .filter((entry) => entry.walletId === walletId && entry.account === account)
      .reduce((total, entry) => total + entry.amountCents, 0)
  return { availableCents: sum('available'), heldCents: sum('held') }
}

/** Throws if the posting has fewer than two entries, or if its entries do not sum to zero. */
export function assertBalanced(posting: Posting): void {
  const sum = posting.entries.reduce((total, entry) => total + entry.amountCents, 0)
  if (sum !== 0 || posting.entries.length < 2) throw new Error(`Bug: the posting ${posting.reason} sums to ${sum}.`)
}

type Account = Omit<Entry, 'amountCents'>

const availableOf = (walletId: string): Account => ({ account: 'available', walletId })
const heldOf = (walletId: string): Account => ({ account: 'held', walletId })
const outsideAccount = (account: Exclude<Entry['account'], 'available' | 'held'>): Account => ({
  account,
  walletId: null,
})

function move(reason: Posting['reason'], from: Account, to: Account, amountCents: number): Posting {
  return {
    reason,
    entries: [
      { ...from, amountCents: -amountCents },
      { ...to, amountCents },
    ],
  }
}
