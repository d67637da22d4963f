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

/** Posts money that comes into a wallet from outside the service. */
export function funded(walletId: string, amountCents: number): Posting {
  return move('funded', outsideAccount('funding'), availableOf(walletId), amountCents)
}

/** Places a hold. */
export function authorized(walletId: string, amountCents: number): Posting {
  return move('authorized', availableOf(walletId), heldOf(walletId), amountCents)
}

/** Ends a hold. The captured part goes to the card network, and the rest becomes available again. */
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

/** Ends a hold from which nothing was captured. */
export function released(walletId: string, heldCents: number): Posting {
  return move('released', heldOf(walletId), availableOf(walletId), heldCents)
}

/** Posts a refund, which returns captured money to the wallet. */
export function refunded(walletId: string, amountCents: number): Posting {
  return move('refunded', outsideAccount('card_network'), availableOf(walletId), amountCents)
}

/** Posts a payer's card payment for a subscription to the merchant's wallet. */
export function subscriptionPaid(walletId: string, amountCents: number): Posting {
  return move('subscription_paid', outsideAccount('payer_cards'), availableOf(walletId), amountCents)
}

/** Posts a card payment of a payment request. */
export function paidByCard(walletId: string, amountCents: number): Posting {
  return move('paid_by_card', outsideAccount('payer_cards'), availableOf(walletId), amountCents)
}

/** Moves money from one wallet to another. */
export function paid(walletId: string, toWalletId: string, amountCents: number): Posting {
  return move('paid', availableOf(walletId), availableOf(toWalletId), amountCents)
}

/** Reserves the money of a payment to a bank, or to a recipient who is not known yet. */
export function reserved(walletId: string, amountCents: number): Posting {
  return move('reserved', availableOf(walletId), heldOf(walletId), amountCents)
}

/** Moves the reserved money of a claimed payment to its recipient. */
export function claimed(walletId: string, toWalletId: string, amountCents: number): Posting {
  return move('claimed', heldOf(walletId), availableOf(toWalletId), amountCents)
}

/** Posts a wire to a bank account. */
export function wired(walletId: string, amountCents: number): Posting {
  return move('wired', availableOf(walletId), outsideAccount('wire_network'), amountCents)
}

/** Posts a wire that comes back from a bank account. */
export function returned(walletId: string, amountCents: number): Posting {
  return move('returned', outsideAccount('wire_network'), availableOf(walletId), amountCents)
}

/** Posts a deposit from a linked bank account. */
export function deposited(walletId: string, amountCents: number): Posting {
  return move('deposited', outsideAccount('bank_network'), availableOf(walletId), amountCents)
}

/** Posts a returned deposit. The wallet may become negative. */
export function depositReturned(walletId: string, amountCents: number): Posting {
  return move('deposit_returned', availableOf(walletId), outsideAccount('bank_network'), amountCents)
}

/** Moves reserved money out of the wallet when it has arrived at a linked bank account. */
export function withdrawn(walletId: string, amountCents: number): Posting {
  return move('withdrawn', heldOf(walletId), outsideAccount('bank_network'), amountCents)
}

/** Posts a returned withdrawal. */
export function withdrawalReturned(walletId: string, amountCents: number): Posting {
  return move('withdrawal_returned', outsideAccount('bank_network'), availableOf(walletId), amountCents)
}

/** Moves money between two wallets of one party. */
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

/** Throws if the posting creates or loses money. */
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
