import { foreignName } from '../../../../core/foreign-text.ts'

/** A status of the API as a person reads it: `marked_paid` is `marked paid`. */
export const statusText = (status: string) => status.replaceAll('_', ' ').toLowerCase()

/** What a status is like, so that its colour says no more than the word. */
export function likeOf(status: string): 'good' | 'open' | 'bad' | 'over' {
  if (/^(active|captured|completed|paid|marked_paid|approved)$/i.test(status)) return 'good'
  if (/^(authorized|open|pending|pending_claim|processing|in_review|scheduled|trial|frozen)$/i.test(status))
    return 'open'
  if (/^(declined|failed|missed|past_due|returned|denied|suspended)$/i.test(status)) return 'bad'
  return 'over'
}

export const merchantName = (name: string) => foreignName(name, 'A merchant without a readable name')

export const walletName = (name: string | null) => foreignName(name ?? '', 'A wallet without a name')

/** The lists that go on behind their first page. */
export type ListName = 'cards' | 'purchases' | 'payments' | 'transfers' | 'requests' | 'asked'

/** The list that is not shown from its beginning, and where it goes on. */
export interface ListPage {
  list?: string
  cursor?: string
}

/** The address of each part, as its page asks for it. */
export const partAddress = (part: 'waiting' | 'wallets' | 'lists', page: ListPage = {}): string =>
  `/console/money?${new URLSearchParams({ part, ...page })}`
